// Changes in a line each: who did what to which resource.
import { all } from "../api.js";
import { agents, policies } from "../names.js";
import { to } from "../url.js";
import { html } from "../vendor/preact.js";
import { useRead } from "./read.js";
import { Text, Time } from "./text.js";

/** Types of resources as the glossary calls them. @type {Record<string, string>} */
export const TYPES = {
  agent: "agent",
  policy: "policy",
  policy_review: "review of policies",
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
export const done = ({ kind, resourceType }) =>
  resourceType === "session"
    ? kind === "created"
      ? "signed in as"
      : "ended the session of"
    : `${kind} the ${TYPES[resourceType] ?? resourceType}`;

/** What the resource is called; a change tells its name only where that differs. @param {Change} change @returns {string} */
export function nameOf({ before, after, resourceId, resourceType }) {
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
