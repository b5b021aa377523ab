// Changes of policies that wait for a second person; nothing, if none does.
import { get } from "../api.js";
import { AgentName } from "../names.js";
import { to } from "../url.js";
import { html } from "../vendor/preact.js";
import { useRead } from "./read.js";
import { Text, Time } from "./text.js";

/** As many as can wait. */
const MOST = 200;
const TO = { created: "create", updated: "change", deleted: "delete" };

const useWaiting = () =>
  useRead(
    "reviews that wait",
    async (signal) =>
      /** @type {Review[]} */ ((await get("/v1/policy-reviews", { status: "pending", limit: MOST }, signal)).data),
  );

/** Whose policies a review changes. @param {{review: Review, link?: boolean}} props */
export const OwnerOf = ({ review, link = false }) =>
  review.agentId
    ? html`<${AgentName} id=${review.agentId} link=${link} />`
    : review.group
      ? html`the group <${Text} value=${review.group} />`
      : "the whole workspace";

/** Which policies it changes, in a line; no name looks like the policy after it. @param {Review} review */
export const inShort = (review) =>
  review.policies.map(({ kind, name }) => `${TO[kind]} ${JSON.stringify(name)}`).join(", ");

export function ReviewsList() {
  const read = useWaiting();
  if (!read.data) return read.error ? null : html`<p class="unready"></p>`;
  if (!read.data.length) return null;
  return html`<section class="card stack" aria-label="Waits for a second person"><h2>Waits for a second person</h2>
    <ul class="plain wrapped">${read.data.map((each) => html`<li class="line" key=${each.id}><a href=${to(`reviews/${each.id}`)}><${Text} value=${inShort(each)} /></a><span class="muted small">for <${OwnerOf} review=${each} />, asked by <${Text} value=${each.askedBy.name} /></span><span class="spring"></span><span class="small muted"><${Time} at=${each.createdAt} /></span></li>`)}</ul></section>`;
}

export function ReviewsCount() {
  const read = useWaiting();
  if (!read.data) return read.error ? null : html`<p class="unready"></p>`;
  if (!read.data.length) return null;
  const count = read.data.length;
  return html`<p><a href=${to("policies")}>${count === 1 ? "One change waits" : `${count} changes wait`} for a second person</a></p>`;
}
