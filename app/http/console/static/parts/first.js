// The first decision of its kind: of the same agent and tool, with the same result, code and policy.
import { get } from "../api.js";
import { moment } from "../time.js";
import { setParams } from "../url.js";
import { html } from "../vendor/preact.js";
import { useRead } from "./read.js";

/** As many intervals as one request counts. */
const INTERVALS = 1000;
const [PAGE, PAGES] = [1000, 10];

/** The first of them, and how many there are up to this one. It is narrowed down by counts, each of a thousandth of the span before.
 * @param {Entry} entry @param {AbortSignal} signal @returns {Promise<{first: Entry, count: number} | null>} */
async function firstOf(entry, signal) {
  const kind = {
    agent_id: entry.agentId,
    tool_name: entry.toolName,
    result: entry.result,
    policy_id: entry.policyId ?? undefined,
  };
  // An agent's id begins with the time at which it was made, before which it asked for nothing.
  let from = parseInt(entry.agentId.replace("-", "").slice(0, 12), 16);
  let until = Date.parse(entry.timestamp);
  let count = 0;
  for (let step = Infinity; step > 1;) {
    step = Math.max(1, Math.ceil((until - from) / 1000 / (INTERVALS - 1)));
    const span = { from: new Date(from).toISOString(), to: new Date(until).toISOString() };
    const { data } = await get("/v1/audit-logs/counts", { ...kind, ...span, by: "code", step, limit: 100 }, signal);
    const counts = data.values.find((/** @type {any} */ each) => each.value === entry.code)?.counts.map(Number);
    const at = counts?.findIndex((/** @type {number} */ each) => each > 0) ?? -1;
    if (at < 0) return null; // older than its agent: a clock was set back
    count ||= counts.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0);
    from += at * step * 1000;
    until = Math.min(until, from + step * 1000 - 1);
  }
  const span = { from: new Date(from).toISOString(), to: new Date(until).toISOString() };
  let first = entry;
  for (let cursor = "", page = 0; page < PAGES; page++) {
    const { data, next } = await get("/v1/audit-logs", { ...kind, ...span, limit: PAGE, cursor }, signal);
    first = data.findLast((/** @type {Entry} */ each) => each.code === entry.code && !each.type) ?? first;
    if (!next) break;
    cursor = next;
  }
  return { first, count };
}

/** @param {{entry: Entry}} props */
export function First({ entry }) {
  const read = useRead(`first of ${entry.id}`, (signal) => firstOf(entry, signal), { once: true });
  if (read.error) return html`<span class="muted">not counted</span>`;
  if (read.data === undefined) return html`<span class="muted">looking…</span>`;
  if (read.data === null) return html`<span class="muted">not found</span>`;
  const { first, count } = read.data;
  if (first.id === entry.id) return html`this one`;
  return html`<button type="button" class="link" onClick=${() => setParams({ entry: first.id }, { replace: false })}>${moment(first.timestamp)}</button>
    <span class="muted number">, ${count.toLocaleString("en")} up to this one</span>`;
}
