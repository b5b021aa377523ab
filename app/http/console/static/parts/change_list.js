// Changes one by one: who did what to which resource, when and why, and what differs.
import { to } from "../url.js";
import { html, useState } from "../vendor/preact.js";
import { done, nameOf } from "./changes.js";
import { Diff, differences } from "./diff.js";
import { Empty, Later } from "./loading.js";
import { Pill, Tag, Text, Time } from "./text.js";

const QUIET = ["updatedAt", "updated_at", "version", "createdAt", "id"];

/** Where a resource is shown. @param {Change} change */
function linkOf(change) {
  const screens = /** @type {Record<string, string>} */ ({
    agent: `agents/${change.resourceId}`,
    policy: `policies/${change.resourceId}`,
    webhook: "webhooks",
    policy_review: `reviews/${change.resourceId}`,
    api_key: "keys",
    catalog: "catalog",
  });
  return change.kind === "deleted" || !screens[change.resourceType] ? null : to(screens[change.resourceType]);
}

/** @param {{changes: Change[], empty?: string}} props */
export function ChangeList({ changes, empty = "Nothing matches" }) {
  if (!changes.length) return html`<${Empty} icon="changes" title=${empty} />`;
  return html`<ol class="timeline">${changes.map((each) => html`<${One} change=${each} key=${each.id} />`)}</ol>`;
}

/** @param {{change: Change}} props */
function One({ change }) {
  const [open, setOpen] = useState(false);
  const name = nameOf(change);
  const link = linkOf(change);
  const isReview = change.resourceType === "policy_review"; // of which its page says more
  const rows = change.kind === "updated" && !isReview ? differences(change.before, change.after, QUIET) : [];
  const at = Date.parse(change.timestamp);
  const around = to("decisions", {
    from: new Date(at - 600_000).toISOString(),
    to: new Date(at + 600_000).toISOString(),
  });
  return html`<li><span class=${`dot-kind ${change.kind}`} aria-hidden="true"></span><div class="stack">
    <p><b><${Text} value=${change.actorName} /></b>${change.via && ` (${change.via})`} ${done(change)} ${link ? html`<a href=${link}><${Text} value=${name} /></a>` : html`<b><${Text} value=${name} /></b>`}
      ${change.tripped && html` <${Pill} is="suspended" word="by a breaker" />`} <span class="muted"><${Time} at=${change.timestamp} /></span></p>
    ${change.reason && html`<p class="quote"><${Text} value=${change.reason} lines /></p>`}
    ${change.approvedBy && html`<p class="small">Approved by <b><${Text} value=${change.approvedBy.name} /></b>${change.approvedBy.via && ` (${change.approvedBy.via})`}</p>`}
    <p class="small muted">${rows.length > 0 && html`${rows.slice(0, 4).map((row) => html`<${Tag}>${row.path}<//> `)}${rows.length > 4 ? `and ${rows.length - 4} more ` : ""}`}
      ${!isReview && html`<button type="button" class="link" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Hide" : "Show"} what ${change.kind === "created" ? "was created" : change.kind === "deleted" ? "was deleted" : "differs"}</button> · `}<a href=${around}>decisions around it</a></p>
    ${open && (change.resourceType === "policy" ? html`<${Later} load=${() => import("./policy_diff.js")} name="PolicyDiff" before=${change.before} after=${change.after} />` : html`<${Diff} before=${change.before} after=${change.after} leave=${change.kind === "updated" ? QUIET : []} />`)}</div></li>`;
}
