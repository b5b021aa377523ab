// The form of a new key: scopes as sentences, and an end that is offered.
import { ask } from "../api.js";
import { html, useState } from "../vendor/preact.js";
import { Form } from "./form.js";

/** @type {[string, string][]} */
const SCOPES = [
  ["view", "Look at everything, and change and decide nothing"],
  ["authorize", "Ask whether an agent may call a tool"],
  ["approve", "Approve and deny calls"],
  ["request", "Pin what a user asked for"],
  ["record", "Report what rules may read of calls' results"],
  ["policies", "Write agents, policies and the catalogue"],
  ["audit", "Read and verify the log and the trail"],
  ["read", "Read everything, and also ask for decisions"],
  ["admin", "Everything"],
];

/** @param {{close: () => void, made: (made: {name: string, key: string}) => void}} props */
export function NewKey({ close, made }) {
  const [scopes, setScopes] = useState(/** @type {string[]} */ (["view"]));
  const toggle = (/** @type {string} */ scope) =>
    setScopes((before) => (before.includes(scope) ? before.filter((each) => each !== scope) : [...before, scope]));
  return html`<${Form} title="New key" button="Create" close=${close} fields=${[
    { name: "name", label: "Name", required: true },
    {
      name: "days",
      label: "Ends",
      value: "90",
      options: [
        ["7", "in 7 days"],
        ["30", "in 30 days"],
        ["90", "in 90 days"],
        ["365", "in a year"],
        ["", "never"],
      ],
    },
    {
      name: "agents",
      label: "Only for these agents (optional)",
      note: "Aliases or ids, separated by spaces; for keys that ask for decisions",
    },
  ]}
    send=${async (/** @type {Record<string, string>} */ given, /** @type {string} */ reason) => {
      const body = {
        name: given.name,
        scopes,
        ...(given.days && { expiresAt: new Date(Date.now() + Number(given.days) * 86_400_000).toISOString() }),
        ...(given.agents.trim() && { agents: given.agents.trim().split(/[\s,]+/) }),
      };
      made((await ask("POST", "/v1/api-keys", { body, reason })).data);
    }}><fieldset><legend>What it may do</legend>${SCOPES.map(([scope, words]) => html`<label class="check"><input type="checkbox" checked=${scopes.includes(scope)} onChange=${() => toggle(scope)} /><span><b>${scope}</b> <span class="muted">${words}</span></span></label>`)}</fieldset><//>`;
}
