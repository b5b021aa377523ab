// What went wrong, in a sentence, with what support needs to find it.
import { Refused } from "../api.js";
import { Icon } from "../icons.js";
import { to } from "../url.js";
import { html } from "../vendor/preact.js";
import { CopyButton } from "./copy.js";
import { Text } from "./text.js";

/** @param {{error: unknown, retry?: () => void}} props */
export function Problem({ error, retry }) {
  if (!error) return null;
  const refused = error instanceof Refused ? error : null;
  const message = refused?.message ?? (error instanceof Error ? error.message : String(error));
  const help = refused ? helpFor(refused) : null;
  return html`<div class="problem" role="alert">
    <${Icon} name="alert" />
    <div><p><b><${Text} value=${message} /></b></p>
      ${help && html`<p>${help}</p>`}
      ${refused?.details.map((each) => html`<p class="small"><code>${each.path}</code> <${Text} value=${each.message} /></p>`)}
      ${refused?.requestId && html`<p class="small muted">${refused.code} · request <code>${refused.requestId}</code> <${CopyButton} text=${`${refused.code} ${refused.requestId}`} label="Copy" /></p>`}
      ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}
    </div></div>`;
}

/** @param {Refused} refused */
function helpFor(refused) {
  if (refused.status === 403 && refused.code === "INSUFFICIENT_SCOPE") return "An administrator of the workspace can give this scope.";
  if (refused.status === 404) return html`It is gone or was never there. <a href=${to("changes")}>Changes</a> may say who deleted it.`;
  if (refused.status === 429) return `Too many at once${refused.retryAfter ? `; try again in ${refused.retryAfter} s` : ""}.`;
  if (refused.code === "AUDIT_LOG_DAMAGED") return html`The <a href=${to("log")}>Log</a> screen says where.`;
  return null;
}

/** Nothing to show, and why. @param {{title: string, children?: any, icon?: string}} props */
export function Empty({ title, children, icon = "ok" }) {
  return html`<div class="empty"><span class="empty-icon"><${Icon} name=${icon} size=${22} /></span><h2>${title}</h2>${children}</div>`;
}
