// Approvals: a card for each call that waits for a person; an address of its own for each.
import { get } from "../api.js";
import {
  DecidedWithin,
  approvals,
  approvalsError,
  approvalsRead,
  noteApproval,
  readPending,
  showCards,
} from "../approvals_feed.js";
import { Icon } from "../icons.js";
import { ApprovalCard, inBrief } from "../parts/approval_card.js";
import { Empty, Later, Problem, Skeleton } from "../parts/loading.js";
import { useRead } from "../parts/read.js";
import { barred } from "../session.js";
import { param, setParams, to } from "../url.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";

/** From so many calls on, a list of them stands before the cards. */
const LISTED = 4;
const decided = () => import("../parts/decided_approvals.js");
const STATUSES = ["pending", "approved", "denied", "consumed", "expired", "cancelled"];

/** @param {{id?: string}} props */
export function Screen({ id }) {
  return id ? html`<${One} id=${id} />` : html`<${Many} />`;
}

/** @param {{id: string}} props */
function One({ id }) {
  useEffect(() => showCards(id), [id]);
  const read = useRead(`approval ${id}`, async (signal) => {
    const { data } = await get(`/v1/approvals/${encodeURIComponent(id)}`, {}, signal);
    noteApproval(data);
    return data;
  });
  const shown = useRef(read.data);
  for (const each of [read.data, approvals.value.get(id)])
    if (each && !(shown.current?.version > each.version)) shown.current = each;
  const approval = shown.current;
  return html`<div class="page narrow"><div class="head"><a class="quiet square" href=${to("approvals")} aria-label="All approvals"><${Icon} name="back" /></a><h1>Approval</h1></div>
    <${Problem} error=${!approval && read.error} retry=${read.reload} />
    ${approval ? html`<${ApprovalCard} approval=${approval} alone />` : read.slow && html`<${Skeleton} />`}</div>`;
}

function Many() {
  useEffect(() => showCards(), []);
  const status = param("status") || "pending";
  const pending = [...approvals.value.values()]
    .filter((each) => each.status === "pending")
    .sort((a, b) => a.expiresAt.localeCompare(b.expiresAt));
  // Every card stays where it was drawn first until the screen is left, whoever decides it and whatever comes: a second
  // click, or one that was on its way, must not reach the buttons of another card.
  const [drawn, setDrawn] = useState(/** @type {Block[]} */ ([]));
  place(pending, drawn);
  // What was so once stays, as cards do: who has approved a call of two sees its card until they leave.
  const decidable = useRef(/** @type {Set<string>} */ (new Set())).current;
  for (const each of pending) if (!barred(each)) decidable.add(each.id);
  // As it is when the screen is opened; what comes later is said, and put after the cards.
  const first = useRef(/** @type {string[] | null} */ (null));
  if (approvalsRead.value) first.current ??= drawn.flatMap(({ ids }) => ids);
  // Somebody's own question is theirs to withdraw, but not to decide.
  const mine = param("mine") !== "" && status === "pending";
  const listed = (first.current ?? [])
    .flatMap((id) => approvals.value.get(id) ?? [])
    .filter((each) => !mine || decidable.has(each.id));
  const late = pending.filter((each) => first.current && !first.current.includes(each.id)).at(-1);
  const forgotten = drawn.some(({ ids }) => ids.some((id) => !approvals.value.has(id)));
  const blocks = drawn
    .map(({ ids, ...each }) => ({ ...each, list: inOrder(ids.flatMap((id) => approvals.value.get(id) ?? [])) }))
    .filter((each) => each.list.length && (!mine || each.list.some(({ id }) => decidable.has(id))));
  return html`<div class="page"><div class="head"><h1>Approvals</h1>${status === "pending" && pending.length > 0 && html`<span class="tag number">${pending.length} waiting</span>`}<span class="spring"></span><${Later} load=${() => import("../parts/notify.js")} name="Notify" /><span class="sr" role="status">${late && `A call arrived: ${inBrief(late)}`}</span></div>
    <div class="chips" role="group" aria-label="Status">${STATUSES.map((each) => html`<button type="button" class="chip" aria-pressed=${each === status} onClick=${() => setParams({ status: each === "pending" ? null : each })}>${each}</button>`)}${status === "pending" && html`<button type="button" class="chip" aria-pressed=${mine} title="Only calls that you may decide" onClick=${() => setParams({ mine: mine ? null : "1" })}>mine</button>`}</div>
    ${status === "pending" && listed.length >= LISTED && html`<${Later} load=${() => import("../parts/approval_list.js")} name="ApprovalList" list=${listed} />`}
    ${
      status !== "pending"
        ? html`<${Later} key=${status} load=${decided} name="History" status=${status} />`
        : !approvalsRead.value
          ? approvalsError.value
            ? html`<${Problem} error=${approvalsError.value} retry=${readPending} />`
            : html`<${Skeleton} />`
          : forgotten
            ? html`<${Empty} title="Many were decided meanwhile" icon="approvals"><button type="button" onClick=${() => setDrawn([])}>Show those that wait</button><//>`
            : !blocks.length
              ? html`<${Empty} title="Nothing waits for you" icon="approvals"><p>A call that a policy escalates appears here at once.</p><//>`
              : html`<div class="cards">${blocks.map(({ key, together, list }) => (together ? html`<${Later} key=${key} load=${() => import("../parts/approval_group.js")} name="ApprovalGroup" list=${list} />` : html`<${ApprovalCard} key=${key} approval=${list[0]} />`))}</div>`
    }
    <${DecidedWithin} /></div>`;
}

/** Calls of one plan, calls of one agent's session that came together, or one call by itself.
 * @typedef {{key: string, together: boolean, ids: string[]}} Block */

/** @param {Approval[]} list */
const inOrder = (list) => list.sort((a, b) => Number(a.plan?.index ?? 0) - Number(b.plan?.index ?? 0));

/** Adds new calls after what is drawn, groups first. Only plans grow: their calls come in one moment.
 * @param {Approval[]} pending @param {Block[]} blocks */
function place(pending, blocks) {
  const known = new Set(blocks.flatMap((each) => each.ids));
  /** @type {Map<string, Approval[]>} */
  const found = new Map();
  for (const each of pending) {
    if (known.has(each.id)) continue;
    const key = each.plan
      ? `plan ${each.plan.id}`
      : each.context?.session
        ? `session ${each.agentId} ${each.context.session}`
        : each.id;
    found.set(key, [...(found.get(key) ?? []), each]);
  }
  const fresh = [];
  for (const [key, list] of found) {
    const ids = list.map((each) => each.id);
    const plan = list[0].plan && blocks.find((each) => each.key === key);
    if (plan) plan.ids.push(...ids);
    else
      fresh.push({
        key: list[0].plan ? key : ids[0],
        together: ids.length > 1 || Number(list[0].plan?.calls ?? 1) > 1,
        ids,
      });
  }
  blocks.push(...fresh.filter((each) => each.together), ...fresh.filter((each) => !each.together));
}
