// What helps with a refusal: who can, what to try, and what support needs to find it.
import { Refused } from "../api.js";
import { session } from "../session.js";
import { address, to } from "../url.js";
import { Fragment, html } from "../vendor/preact.js";
import { CopyButton } from "./copy.js";
import { Text } from "./text.js";

/** @param {{refused: Refused}} props */
export function Details({ refused }) {
  const help = helpFor(refused);
  return html`<${Fragment}>${help && html`<p>${help}</p>`}
    ${refused.details.map((each) => html`<p class="small"><code>${each.path}</code> <${Text} value=${each.message} /></p>`)}
    ${refused.requestId && html`<p class="small muted">${refused.code} · request <code>${refused.requestId}</code> <${CopyButton} text=${`${refused.code} ${refused.requestId}`} label="Copy" /></p>`}<//>`;
}

/** In place of a screen that is not there, or not for this session. @param {{screen?: {name: string, scopes: string[]}}} props */
export function Lost({ screen }) {
  return html`<div class="page"><h1>${screen ? screen.name : "There is no such screen"}</h1>
    <p class="muted">${screen ? `You need the scope ${screen.scopes.join(" or ")} to see this; an administrator can give it.` : "The menu has all there are."}</p></div>`;
}

/** Signs in again, and comes back to the approval. @param {{approval: Approval}} props */
export function SignInAgain({ approval }) {
  const back = address("/console/sign-in", {
    to: to(`approvals/${approval.id}`),
    workspace: session.value?.workspace,
    max_age: approval.fresh,
  });
  return html`<p><a class="button" href=${back}>Sign in again</a></p>`;
}

/** @param {Refused} refused */
function helpFor(refused) {
  if (refused.status === 403 && refused.code === "INSUFFICIENT_SCOPE")
    return "An administrator of the workspace can give this scope.";
  if (refused.status === 404)
    return html`It is gone or was never there. <a href=${to("changes")}>Changes</a> may say who deleted it.`;
  if (refused.status === 429)
    return `Too many at once${refused.retryAfter ? `; try again in ${refused.retryAfter} s` : ""}.`;
  if (refused.code === "AUDIT_LOG_DAMAGED") return html`The <a href=${to("log")}>Log</a> screen says where.`;
  return null;
}
