// Of each agent in a list: how many calls it made in the last day, and what it may do with how many tools.
import { get } from "../api.js";
import { to } from "../url.js";
import { Fragment, html } from "../vendor/preact.js";
import { useRead } from "./read.js";

const STATUSES = ["allowed", "conditional", "escalated", "denied"];
const DAY = 86_400_000;
/** The most agents that are counted, the busiest first. */
const MOST = 1000;

/** @typedef {{from: string, calls: Map<string, number>, denied: Map<string, number>, complete: boolean}} DayCounts */

/** Decisions of the last 24 hours, and those that were denied, by the agent's id; undefined until they are read. @param {boolean} may */
export function useDayCounts(may) {
  return useRead("agents in the last day", async (signal) => {
    if (!may) return undefined;
    const from = new Date(Date.now() - DAY).toISOString();
    const count = async (/** @type {string} */ result) => {
      const { data } = await get("/v1/audit-logs/counts", { by: "agent", from, limit: MOST, result }, signal);
      return new Map(
        /** @type {[string, number][]} */ (
          data.values.map((/** @type {any} */ each) => [each.value, Number(each.count)])
        ),
      );
    };
    const parts = await Promise.all(["allowed", "escalated", "denied"].map(count));
    /** @type {Map<string, number>} */
    const calls = new Map();
    for (const part of parts) for (const [id, number] of part) calls.set(id, (calls.get(id) ?? 0) + number);
    return /** @type {DayCounts} */ ({
      from,
      calls,
      denied: parts[2],
      complete: parts.every((each) => each.size < MOST),
    });
  }).data;
}

/** @param {{agent: Agent, day: DayCounts | undefined}} props */
export function DayCount({ agent, day }) {
  if (!day) return null;
  const calls = day.calls.get(agent.id) ?? 0;
  if (!calls) return html`<span class="muted">${day.complete ? "0" : "few"}</span>`;
  const denied = day.denied.get(agent.id) ?? 0;
  return html`<${Fragment}><a href=${to("decisions", { agent_id: agent.id, from: day.from })}>${day.complete ? "" : "at least "}${calls.toLocaleString("en")}</a>${denied > 0 && html`<span class="muted">, <span class="whole">${denied.toLocaleString("en")} denied</span></span>`}<//>`;
}

/** @type {Promise<unknown>} */
let turn = Promise.resolve();

/** One after the other, since each listing is work for the service. @template T @param {AbortSignal} signal @param {() => Promise<T>} act @returns {Promise<T>} */
function inTurn(signal, act) {
  const mine = turn.then(() => {
    signal.throwIfAborted();
    return act();
  });
  turn = mine.catch(() => {});
  return mine;
}

/** How many tools the agent may call, while its row is drawn. @param {{agent: Agent}} props */
export function ToolCounts({ agent }) {
  const read = useRead(`tool counts ${agent.id} ${agent.version}`, (signal) =>
    inTurn(signal, async () => {
      const { data } = await get(`/v1/agents/${agent.id}/tools`, { limit: 1000 }, signal);
      return { total: Number(data.total), tools: /** @type {Access[]} */ (data.tools) };
    }),
  );
  if (!read.data) return null;
  const { total, tools } = read.data;
  const counts = STATUSES.map((status) => [status, tools.filter((each) => each.status === status).length]).filter(
    ([, count]) => count,
  );
  const words = counts.map(([status, count]) => `${count} ${status}`).join(", ");
  return html`<span title=${total > tools.length ? `Of the first ${tools.length}: ${words}` : words} class="muted">${words || "none known"}</span>`;
}
