// Changes: who did what to which resource, why, and what differs.
import { all } from "../api.js";
import { agents, policies } from "../names.js";
import { to } from "../url.js";
import { html, useState } from "../vendor/preact.js";
import { Diff, differences } from "./diff.js";
import { Empty, Later } from "./loading.js";
import { useRead } from "./read.js";
import { Pill, Tag, Text, Time } from "./text.js";

/** Types of resources as the glossary calls them. @type {Record<string, string>} */
export const TYPES = {
  agent: "agent",
  policy: "policy",
  api_key: "API key",
  webhook: "webhook",
  catalog: "catalogue",
  session: "session",
  issuer: "issuer",
  workload: "workload",
  request: "user's request",
  checkpoint: "signing of checkpoints",
};

/** What was done to what, without its name. @param {Change} change */
const done = ({ kind, resourceType }) =>
  resourceType === "session"
    ? kind === "created"
      ? "signed in as"
      : "ended the session of"
    : `${kind} the ${TYPES[resourceType] ?? resourceType}`;

export const QUIET = ["updatedAt", "updated_at", "version", "createdAt", "id"];

/** Where a resource is shown. @param {Change} change */
function linkOf(change) {
  const screens = /** @type {Record<string, string>} */ ({
    agent: `agents/${change.resourceId}`,
    policy: `policies/${change.resourceId}`,
    webhook: "webhooks",
    api_key: "keys",
    catalog: "catalog",
  });
  return change.kind === "deleted" || !screens[change.resourceType] ? null : to(screens[change.resourceType]);
}

/** What the resource is called; a change tells its name only where that differs. @param {Change} change @returns {string} */
function nameOf({ before, after, resourceId, resourceType }) {
  const what = /** @type {any} */ (after ?? before ?? {});
  return (
    what.name ??
    what.url ??
    agents.find(resourceId)?.name ??
    policies.find(resourceId)?.name ??
    (resourceType === "catalog"
      ? "of tools"
      : resourceType === "checkpoint"
        ? `of the ${Object.keys(what)}`
        : resourceId)
  );
}

/** Who signed in is on the screen of changes: however often, it hides nothing of the newest few. */
const LATEST = {
  resource_type: Object.keys(TYPES)
    .filter((type) => type !== "session")
    .join(),
  limit: 6,
};
const PAGES = 3; // a page that has read much of a long trail may be short

/** The newest few, one line each. */
export function Latest() {
  const read = useRead(
    "latest changes",
    async (signal) => /** @type {Change[]} */ (await all("/v1/changes", LATEST, 6, PAGES, signal)),
  );
  if (!read.data?.length) return null;
  return html`<section class="card"><h2><a href=${to("changes")}>Latest changes</a></h2><ul class="plain">${read.data.map((each) => html`<li class="line" key=${each.id}><span><b><${Text} value=${each.actorName} /></b> ${done(each)} <${Text} value=${nameOf(each)} /></span><span class="spring"></span><span class="muted"><${Time} at=${each.timestamp} /></span></li>`)}</ul></section>`;
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
  const rows = change.kind === "updated" ? differences(change.before, change.after, QUIET) : [];
  const at = Date.parse(change.timestamp);
  const around = to("decisions", {
    from: new Date(at - 600_000).toISOString(),
    to: new Date(at + 600_000).toISOString(),
  });
  return html`<li><span class=${`dot-kind ${change.kind}`} aria-hidden="true"></span><div class="stack">
    <p><b><${Text} value=${change.actorName} /></b>${change.via && ` (${change.via})`} ${done(change)} ${link ? html`<a href=${link}><${Text} value=${name} /></a>` : html`<b><${Text} value=${name} /></b>`}
      ${change.tripped && html` <${Pill} is="suspended" word="by a breaker" />`} <span class="muted"><${Time} at=${change.timestamp} /></span></p>
    ${change.reason && html`<p class="quote"><${Text} value=${change.reason} /></p>`}
    <p class="small muted">${rows.length > 0 && html`${rows.slice(0, 4).map((row) => html`<${Tag}>${row.path}<//> `)}${rows.length > 4 ? `and ${rows.length - 4} more ` : ""}`}
      <button type="button" class="link" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Hide" : "Show"} what ${change.kind === "created" ? "was created" : change.kind === "deleted" ? "was deleted" : "differs"}</button> · <a href=${around}>decisions around it</a></p>
    ${open && (change.resourceType === "policy" ? html`<${Later} load=${() => import("./policy_diff.js")} name="PolicyDiff" before=${change.before} after=${change.after} />` : html`<${Diff} before=${change.before} after=${change.after} leave=${change.kind === "updated" ? QUIET : []} />`)}</div></li>`;
}
