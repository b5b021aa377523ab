// Stopping a group or everything: a guardrail that denies every tool. Resuming deletes it.
import "../styles.js";
import { ask } from "../api.js";
import { Icon } from "../icons.js";
import { policies } from "../names.js";
import { can, lacks, session } from "../session.js";
import { html, useState } from "../vendor/preact.js";
import { Later } from "./loading.js";
import { Text, Time } from "./text.js";

const NAME = "Stopped by ";

/** The stops in force. */
function stops() {
  return [...(policies.all?.values() ?? [])].filter(
    (each) =>
      each.kind === "guardrail" &&
      each.enabled &&
      each.name.startsWith(NAME) &&
      each.rules.length === 1 &&
      each.rules[0].type === "tool_denylist" &&
      each.rules[0].tools.includes("*"),
  );
}

/** Deny every call of a group, or of the whole workspace. @param {string | null} group @param {string} reason */
export async function stop(group, reason) {
  const name =
    `${NAME}${session.value?.name ?? "a session"}, ${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC`.slice(
      0,
      255,
    );
  await ask("POST", "/v1/policies", {
    body: { name, kind: "guardrail", ...(group && { group }), rules: [{ type: "tool_denylist", tools: ["*"] }] },
    reason,
  });
  await policies.refresh();
}

/** @param {Policy} policy @param {string} reason */
async function resume(policy, reason) {
  try {
    await ask("DELETE", `/v1/policies/${policy.id}`, { reason, ifMatch: policy.version });
  } finally {
    await policies.refresh();
  }
}

/** The stops in force, each with the way to resume. */
export function Stops() {
  const [asked, setAsked] = useState("");
  const lifting = stops().find((each) => each.id === asked);
  const known = policies.all || policies.error || !can("read", "policies");
  return html`<div class=${`stops${known ? "" : " unready"}`}>${stops().map(
    (each) => html`<div class="stopped" role="alert"><${Icon} name="stop" />
      <p><b>${each.group ? html`Every call of the group ${each.group} is denied.` : "Every call of every agent is denied."}</b> <${Text} value=${each.name} /> <span class="muted">(<${Time} at=${each.createdAt} />)</span></p>
      <span class="spring"></span><button type="button" disabled=${lacks("policies")} title=${lacks("policies")} onClick=${() => setAsked(each.id)}>Resume…</button></div>`,
  )}
    ${
      lifting &&
      html`<${Later} load=${() => import("./confirm.js")} name="Confirm" title="Resume" button="Resume" reason="needed" close=${() => setAsked("")}
      act=${async (/** @type {string} */ reason) => {
        await resume(lifting, reason);
        setAsked("");
      }}>
      <p>Deletes the guardrail “<${Text} value=${lifting.name} />”. From then on the other policies decide again.</p><//>`
    }</div>`;
}
