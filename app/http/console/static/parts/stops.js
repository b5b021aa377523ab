// The stops in force, and the dialog that makes one.
import "../styles.js";
import { Icon } from "../icons.js";
import { agents } from "../names.js";
import { lacks } from "../session.js";
import { resume, stop, stops } from "../stops.js";
import { html, useState } from "../vendor/preact.js";
import { Confirm } from "./confirm.js";
import { Text, Time } from "./text.js";

export function Stops() {
  const [asked, setAsked] = useState("");
  const lifting = stops().find((each) => each.id === asked);
  return html`<div class="stops">${stops().map(
    (each) => html`<div class="stopped" role="alert"><${Icon} name="stop" />
      <p><b>${each.group ? html`Every call of the group ${each.group} is denied.` : "Every call of every agent is denied."}</b> <${Text} value=${each.name} /> <span class="muted">(<${Time} at=${each.createdAt} />)</span></p>
      <span class="spring"></span><button type="button" disabled=${lacks("policies")} title=${lacks("policies")} onClick=${() => setAsked(each.id)}>Resume…</button></div>`,
  )}
    ${
      lifting &&
      html`<${Confirm} title="Resume" button="Resume" reason="needed" close=${() => setAsked("")}
      act=${async (/** @type {string} */ reason) => {
        await resume(lifting, reason);
        setAsked("");
      }}>
      <p>Deletes the guardrail “<${Text} value=${lifting.name} />”. From then on the other policies decide again.</p><//>`
    }</div>`;
}

/** @param {{close: () => void}} props */
export function StopDialog({ close }) {
  const groups = [...new Set([...(agents.all?.values() ?? [])].flatMap((each) => each.groups))].sort();
  const [target, setTarget] = useState(groups[0] ?? "*");
  const members = [...(agents.all?.values() ?? [])].filter(
    (each) => target === "*" || each.groups.includes(target),
  ).length;
  return html`<${Confirm} title="Stop agents" button=${target === "*" ? "Stop everything" : `Stop the group ${target}`} danger reason="needed" close=${close} name=${target === "*" ? "stop everything" : undefined}
      act=${async (/** @type {string} */ reason) => {
        await stop(target === "*" ? null : target, reason);
        close();
      }}>
    <label>What to stop<select value=${target} onChange=${(/** @type {any} */ event) => setTarget(event.target.value)}>${groups.map((each) => html`<option value=${each}>The group ${each}</option>`)}<option value="*">Everything: all agents of the workspace</option></select></label>
    <p>All calls of ${members} ${members === 1 ? "agent" : "agents"} are denied on every replica from now on, whatever other policies say. Approvals that were given cannot be used meanwhile. A guardrail is created, which Resume deletes.</p><//>`;
}
