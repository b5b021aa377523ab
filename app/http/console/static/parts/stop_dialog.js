// The dialog that stops many agents.
import "../styles.js";
import { agents } from "../names.js";
import { html, useState } from "../vendor/preact.js";
import { Confirm } from "./confirm.js";
import { stop } from "./stops.js";

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
