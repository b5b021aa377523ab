// The stops in force.
import "../styles.js";
import { Icon } from "../icons.js";
import { policies } from "../names.js";
import { can, lacks } from "../session.js";
import { resume, stops } from "../stops.js";
import { html, useState } from "../vendor/preact.js";
import { Later } from "./loading.js";
import { Text, Time } from "./text.js";

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
