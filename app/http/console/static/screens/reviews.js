// One change of policies that waits for a second person, or did: what it changes, what that means, and the decision.
import "../styles.js";
import { ask, get, Waits } from "../api.js";
import { keepUnsaved, readSchema, written } from "../draft.js";
import { write } from "../exact.js";
import { Icon } from "../icons.js";
import { agents, policies } from "../names.js";
import { Action } from "../parts/action.js";
import { Confirm } from "../parts/confirm.js";
import { useLatest } from "../parts/latest.js";
import { Empty, Later, Problem, Skeleton } from "../parts/loading.js";
import { Meaning } from "../parts/meaning.js";
import { PolicyDiff } from "../parts/policy_diff.js";
import { useRead } from "../parts/read.js";
import { Pill, Text, Time } from "../parts/text.js";
import { OwnerOf } from "../parts/waiting_reviews.js";
import { can, fixed, isMine, lacks } from "../session.js";
import { go, to } from "../url.js";
import { html, useEffect, useState } from "../vendor/preact.js";

/** @type {Record<string, string>} */
const BECOMES = { created: "Create", updated: "Change", deleted: "Delete" };
/** @type {Record<string, string>} */
const ENDED = {
  applied: "Approved, and in force.",
  denied: "Denied: nothing was changed.",
  cancelled: "Withdrawn: nothing was changed.",
  expired: "Nobody approved it in time: nothing was changed.",
  stale: "Policies with which it was compared have changed since, or an agent's groups: nothing was written.",
};

/** @param {{id?: string}} props */
export function Screen({ id = "" }) {
  const read = useRead(
    `review ${id}`,
    async (signal) =>
      /** @type {WholeReview} */ ((await get(`/v1/policy-reviews/${encodeURIComponent(id)}`, {}, signal)).data),
  );
  useEffect(() => {
    agents.all;
  }, []);
  const review = read.data;
  return html`<div class="page narrow"><div class="head"><a class="quiet square" href=${to("policies")} aria-label="All policies"><${Icon} name="back" /></a><h1>Change of policies</h1>${review && html`<${Pill} is=${review.status} />`}</div>
    <${Problem} error=${!review && read.error} retry=${read.reload} />
    ${review ? html`<${Review} review=${review} reload=${read.reload} />` : read.slow && html`<${Skeleton} />`}</div>`;
}

/** @param {{review: WholeReview, reload: () => void}} props */
function Review({ review, reload }) {
  const [compared, setCompared] = useState(/** @type {null | "yes" | "failed"} */ (null));
  const [replaying, setReplaying] = useState(false);
  const waits = review.status === "pending";
  const { after } = review;
  return html`<p class="about"><span>For <${OwnerOf} review=${review} link /></span> <span class="muted">asked by <b><${Text} value=${review.askedBy.name} /></b>${review.askedBy.via && ` (${review.askedBy.via})`} <${Time} at=${review.createdAt} /></span></p>
    ${review.reason && html`<p class="quote"><${Text} value=${review.reason} /></p>`}
    <p class=${`note${waits || review.status === "applied" ? " calm" : ""}`} role="status">${waits ? html`Waits for a second person, and expires <${Time} at=${review.expiresAt} />. Nothing is changed yet.` : ENDED[review.status]}${review.decidedBy && html` By <b><${Text} value=${review.decidedBy.name} /></b>${review.decidedBy.via && ` (${review.decidedBy.via})`}${review.endedAt && html` <${Time} at=${review.endedAt} />`}.`}</p>
    ${review.note && html`<p class="quote"><${Text} value=${review.note} lines /></p>`}
    ${["stale", "expired", "denied"].includes(review.status) && html`<${AskAgain} review=${review} />`}
    ${review.policies.map((each) => html`<section class="card stack" key=${each.policyId}><h2>${BECOMES[each.kind]}: ${each.kind === "updated" ? html`<a href=${to(`policies/${each.policyId}`)}><${Text} value=${each.name} /></a>` : html`<${Text} value=${each.name} />`}</h2><${PolicyDiff} before=${each.before} after=${each.after} /></section>`)}
    ${
      waits &&
      html`<section class="card"><${Meaning} owner=${review} after=${after} answered=${(/** @type {unknown} */ error) => setCompared(error ? "failed" : "yes")} /></section>
    ${review.agentId && can("read", "audit") && (replaying ? html`<${Later} load=${() => import("../parts/replay.js")} name="Replay" agent=${review.agentId} set=${after} about="The calls of this time, as if this were in force." />` : html`<p><button type="button" class="link" onClick=${() => setReplaying(true)}>What would it have changed lately?</button></p>`)}
    <${Decide} review=${review} compared=${compared} reload=${reload} />`
    }
    ${!review.policies.length && html`<${Empty} title="It changes no policy" />`}`;
}

/** @param {{review: WholeReview, compared: null | "yes" | "failed", reload: () => void}} props */
function Decide({ review, compared, reload }) {
  const [note, setNote] = useState("");
  const [without, setWithout] = useState(false);
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const path = `/v1/policy-reviews/${review.id}`;
  const say = (/** @type {string} */ verdict) => async () => {
    try {
      await ask("POST", `${path}/${verdict}`, { body: { note } });
      await policies.refresh();
    } finally {
      reload();
    }
  };
  if (isMine(review.askedBy))
    return html`<div class="decide"><p class="note calm">You asked for this yourself, so another person must approve it.</p><${Problem} error=${error} /><div class="verdicts"><${Action} class="deny" act=${say("cancel")} failed=${setError}>Withdraw<//></div></div>`;
  if (!can("policies")) return html`<p class="note calm">${lacks("policies")}.</p>`;
  const ready = compared === "yes" || (compared === "failed" && without);
  return html`<div class="decide">
    <label class="check note" style=${{ visibility: compared === "failed" ? "visible" : "hidden" }}><input type="checkbox" checked=${without} disabled=${compared !== "failed"} onChange=${(/** @type {any} */ event) => setWithout(event.target.checked)} /> What it means is not known. I decide without it.</label>
    <label class="sr" for="review-note">Note</label><textarea id="review-note" rows="1" maxlength="500" placeholder="Note, for the trail of changes" value=${note} onInput=${(/** @type {any} */ event) => setNote(event.target.value)}></textarea>
    <${Problem} error=${error} />
    <div class="verdicts"><${Action} class="deny" act=${say("deny")} failed=${setError}>Deny<//><${Action} class="approve" disabled=${!ready} act=${say("approve")} failed=${setError}>${compared ? "Approve" : "Comparing…"}<//></div></div>`;
}

/** What has become since of the policies that it would have changed, and the way to ask for the same again.
 * @param {{review: WholeReview}} props */
function AskAgain({ review }) {
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [deleting, setDeleting] = useState(/** @type {Policy | null} */ (null));
  const known = policies.all;
  if (!known) return html`<${Problem} error=${policies.error} retry=${policies.refresh} />`;
  const edit = (/** @type {WholeReview["policies"][0]} */ each) => async () => {
    await readSchema();
    const isNew = each.kind === "created";
    keepUnsaved(isNew ? undefined : each.policyId, Number(each.before?.version ?? 0), write(written(each.after)));
    go(isNew ? to("policies/new", { agent: review.agentId }) : to(`policies/${each.policyId}`));
  };
  const moved = review.policies.filter(
    ({ policyId, before }) => before && known.get(policyId)?.version !== before.version,
  );
  const ways = review.policies.map((each) => {
    const now = known.get(each.policyId);
    if (!now && each.kind !== "created") return null;
    return now && each.kind === "deleted"
      ? html`<button type="button" disabled=${fixed(now)} title=${fixed(now)} onClick=${() => setDeleting(now)}><span>Ask again: delete <${Text} value=${each.name} />…</span></button>`
      : html`<${Action} act=${edit(each)} failed=${setError}><span>Ask again: edit <${Text} value=${each.name} /></span><//>`;
  });
  return html`${moved.map(
    ({ policyId, name, before }) =>
      html`<p><b><${Text} value=${name} /></b> ${known.has(policyId) ? html`was version ${before?.version} and is <a href=${to(`policies/${policyId}`, { tab: "versions" })}>version ${known.get(policyId)?.version}</a> now.` : "is gone."}</p>`,
  )}
    ${can("policies") && ways.some(Boolean) && html`<div class="buttons start">${ways}</div>`}
    <${Problem} error=${error} />
    ${deleting && html`<${Delete} policy=${deleting} close=${() => setDeleting(null)} />`}`;
}

/** @param {{policy: Policy, close: () => void}} props */
function Delete({ policy: given, close }) {
  const [policy, again, meanwhile] = useLatest(given);
  return html`<${Confirm} title=${`Delete ${policy.name}`} button="Delete" danger reason="needed" close=${close}
    act=${async (/** @type {string} */ reason) => {
      try {
        await ask("DELETE", `/v1/policies/${policy.id}`, { reason, ifMatch: policy.version }).catch(again);
        close();
      } catch (error) {
        if (!(error instanceof Waits)) throw error;
        go(to(`reviews/${error.review.id}`));
      } finally {
        await policies.refresh();
      }
    }}>
    ${meanwhile}<p>Deletes the policy, which is at version ${policy.version}. From then on it binds no decision, on any replica.</p><//>`;
}
