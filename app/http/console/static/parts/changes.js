// Changes in a line each: who did what to which resource.
import { all } from "../api.js";
import { agents, keys, policies } from "../names.js";
import { to } from "../url.js";
import { html } from "../vendor/preact.js";
import { useRead } from "./read.js";
import { Text, Time } from "./text.js";
import { inShort } from "./waiting_reviews.js";

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

/** What became of a change of policies that waited. @type {Record<string, string>} */
const DECIDED = { applied: "approved", denied: "denied", cancelled: "withdrew" };

/** What was done to what, without its name. @param {Change} change */
export function done({ kind, resourceType, actorName, after }) {
  const is = /** @type {any} */ (after);
  if (resourceType === "session")
    return kind === "deleted" ? "ended the session of" : is?.name === actorName ? "signed in" : "signed in as";
  if (resourceType === "policy_review")
    return kind === "created" ? "asked to" : `${DECIDED[is.status]} the change of policies`;
  return `${kind} the ${TYPES[resourceType] ?? resourceType}`;
}

/** @type {Record<string, {find(id: string): {name: string} | undefined}>} */
const DIRECTORIES = { agent: agents, policy: policies, api_key: keys };

/** What the resource is called, where that is not said already; a change tells its name only where that differs.
 * @param {Change} change @returns {string} */
export function nameOf({ kind, actorName, before, after, resourceId, resourceType }) {
  const what = /** @type {any} */ (after ?? before ?? {});
  if (resourceType === "session" && kind === "created" && what.name === actorName) return "";
  if (resourceType === "policy_review" && kind === "created") return inShort(what);
  if (resourceType === "request") return `of the session ${what.session}`;
  if (resourceType === "catalog") return "of tools";
  if (resourceType === "checkpoint") return `of the ${Object.keys(what)}`;
  return what.name ?? what.url ?? DIRECTORIES[resourceType]?.find(resourceId)?.name ?? `…${resourceId.slice(-8)}`;
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
