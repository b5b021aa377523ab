// The first three steps, each of which ticks itself off.
import "../styles.js";
import { Icon } from "../icons.js";
import { agents, policies } from "../names.js";
import { to } from "../url.js";
import { html, useEffect } from "../vendor/preact.js";
import { CopyButton } from "./copy.js";

/** again: looks whether a decision was asked for. @param {{asked: boolean, again: () => void}} props */
export function FirstSteps({ asked, again }) {
  useEffect(() => {
    const timer = setInterval(() => {
      agents.refresh();
      policies.refresh();
      again();
    }, 3000);
    return () => clearInterval(timer);
  }, []);
  const shell = (/** @type {string} */ path, /** @type {string} */ body) =>
    `curl -s ${location.origin}${path} -H "Authorization: Bearer $REMIT_API_KEY" -d '${body}'`;
  const agent = [...(agents.all?.values() ?? [])][0];
  const ref = agent?.alias ?? agent?.id ?? "refund-bot";
  const key = "export REMIT_API_KEY=";
  const steps = [
    {
      done: Boolean(agents.all?.size),
      title: "Create an agent",
      text: "The program whose calls of tools are judged.",
      command: shell("/v1/agents", '{"name": "Refund bot", "alias": "refund-bot"}'),
      link: to("agents"),
      words: "or do it here",
    },
    {
      done: Boolean(policies.all?.size),
      title: "Give it a policy",
      text: "Without one, every call is denied.",
      command: shell(
        "/v1/policies",
        `{"agent_id": "${ref}", "name": "Read orders", "rules": [{"type": "tool_grant", "tools": ["order.read"]}]}`,
      ),
      link: to("policies/new", { agent: ref }),
      words: "or write it here",
    },
    {
      done: asked,
      title: "Let it ask",
      text: "Each answer appears under Decisions at once.",
      command: shell("/v1/authorize", `{"agent_id": "${ref}", "tool_name": "order.read"}`),
      link: to("decisions"),
      words: "watch",
    },
  ];
  return html`<section class="card stack"><h2>Three steps to the first decision</h2>
    <p class="muted">Each is a command for a shell, with the key that you signed in with: <code>${key}…</code> The first two can be done here as well.</p><ol class="steps">${steps.map(
      (
        step,
        index,
      ) => html`<li class=${step.done ? "done" : ""}><span class="step-mark">${step.done ? html`<${Icon} name="ok" size=${14} />` : index + 1}</span>
    <div class="stack"><p><b>${step.title}.</b> ${step.text} <a href=${step.link}>${step.words}</a></p>${!step.done && html`<div class="secret"><code>${step.command}</code><${CopyButton} text=${step.command} label="Copy" /></div>`}</div></li>`,
    )}</ol></section>`;
}
