// Decisions over time, with a mark for each change of a policy, and who asked for what.
import "../styles.js";
import { all, get } from "../api.js";
import { AgentName } from "../names.js";
import { can } from "../session.js";
import { moment } from "../time.js";
import { go, param, setParams, to } from "../url.js";
import { html, useRef } from "../vendor/preact.js";
import { Chart } from "./chart.js";
import { Problem, Skeleton } from "./loading.js";
import { useRead } from "./read.js";
import { Text } from "./text.js";

const RESULTS = ["allowed", "escalated", "denied"];
const HOUR = 3_600_000;

export function Traffic() {
  const days = param("span") === "30d" ? 30 : 1;
  const step = days === 30 ? 24 * HOUR : HOUR;
  const from = Math.floor(Date.now() / step) * step - ((days === 30 ? 30 : 24) - 1) * step;
  const times = Array.from({ length: days === 30 ? 30 : 24 }, (_, index) => from + index * step);
  const read = useRead(`traffic ${from} ${step}`, (signal) => counts(times, step, signal));
  const ticks = useRead(`ticks ${from}`, async () =>
    can("audit")
      ? (
          await all("/v1/changes", { resource_type: "policy", from: new Date(from).toISOString(), limit: 100 }, 200)
        ).map((/** @type {Change} */ each) => ({
          at: Date.parse(each.timestamp),
          name: `${each.actorName} ${each.kind} ${/** @type {any} */ (each.after ?? each.before)?.name ?? ""}`,
        }))
      : [],
  );
  const recent = Math.floor(Date.now() / HOUR) * HOUR - HOUR;
  const excess = useRead(`unusual ${recent}`, (signal) => unusual(recent, signal));
  const pick = (/** @type {number} */ first, /** @type {number} */ last) =>
    go(
      to("decisions", {
        from: new Date(times[first]).toISOString(),
        to: new Date(times[last] + step - 1).toISOString(),
      }),
    );
  const sum = (/** @type {string} */ result) =>
    (read.data?.by[result] ?? []).reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0);
  // Once it has been there, a choice of another span hides nothing.
  const settled = useRef(false);
  settled.current ||= Boolean(read.error || (read.data && (excess.data || excess.error)));
  return html`<section class=${`card stack${settled.current ? "" : " unready"}`}><header class="line"><h2>Decisions</h2>${read.data && RESULTS.map((each) => html`<span class="number"><i class=${`dot ${each}`}></i> <b>${sum(each).toLocaleString("en")}</b> <span class="muted">${each}</span></span>`)}<span class="spring"></span>
      <div class="switch" role="group" aria-label="Span"><button type="button" aria-pressed=${days === 1} onClick=${() => setParams({ span: null })}>24 h</button><button type="button" aria-pressed=${days === 30} onClick=${() => setParams({ span: "30d" })}>30 d</button></div></header>
    <${Problem} error=${read.error} />
    ${read.data ? html`<${Chart} times=${times} step=${step} label=${`Decisions in the last ${days === 30 ? "30 days" : "24 hours"}`} series=${RESULTS.map((name) => ({ name, values: read.data?.by[name] ?? [] }))} ticks=${ticks.data ?? []} pick=${pick} />` : read.slow && html`<${Skeleton} />`}</section>
    ${
      read.data &&
      (excess.data || excess.error) &&
      html`<div class="beside"><${Unusual} from=${recent} read=${excess} /><${Top} title="Top agents" rows=${read.data.agents} href=${(/** @type {string} */ id) => to("decisions", { agent_id: id })} name=${(/** @type {string} */ id) => html`<${AgentName} id=${id} />`} />
      <${Top} title="Top tools" rows=${read.data.tools} href=${(/** @type {string} */ name) => to("decisions", { tool_name: name })} name=${(/** @type {string} */ name) => html`<code><${Text} value=${name} /></code>`} />
      <${Top} title="Top codes" rows=${read.data.codes} name=${(/** @type {string} */ name) => html`<code>${name}</code>`} /></div>`
    }`;
}

/** @param {{title: string, rows: [string, number][], href?: (value: string) => string, name: (value: string) => any}} props */
function Top({ title, rows, href, name }) {
  if (!rows.length) return null;
  const most = rows[0][1];
  return html`<section class="card"><h2>${title}</h2><ol class="tops">${rows.slice(0, 6).map(([value, count]) => html`<li><span>${href ? html`<a href=${href(value)}>${name(value)}</a>` : name(value)}</span><span class="number">${count.toLocaleString("en")}</span><i style=${{ width: `${(100 * count) / most}%` }}></i></li>`)}</ol></section>`;
}

const DAYS = 7;
/** The agents with the most denials of the week. */
const MOST = 300;
/** How far above the usual number chance alone hardly ever is: that and twice its root. */
const LEAST = 3;

/** isNew: made since these hours of yesterday, so that nothing is usual. @typedef {{id: string, denied: number, usual: number, isNew: boolean}} Excess */

/** The agents that were denied more than usual in this hour and the one before, by how much: compared with the same hours of the
 * last 7 days, or of those since the agent was made.
 * @param {number} from where the hour before begins @param {AbortSignal} signal @returns {Promise<Excess[]>} */
async function unusual(from, signal) {
  const begin = from - DAYS * 24 * HOUR;
  const query = { by: "agent", result: "denied", from: new Date(begin).toISOString(), step: HOUR / 1000, limit: MOST };
  const { data } = await get("/v1/audit-logs/counts", query, signal);
  return data.values
    .map((/** @type {{value: string, counts: any[]}} */ { value: id, counts }) => {
      const at = (/** @type {number} */ hour) => Number(counts[hour] ?? 0) + Number(counts[hour + 1] ?? 0);
      // An id begins with the time at which its agent was made.
      const made = (parseInt(id.replace("-", "").slice(0, 12), 16) - begin) / HOUR;
      const first = Math.min(made, counts.findIndex(Number));
      const hours = Array.from({ length: DAYS }, (_, day) => day * 24).filter((hour) => hour + 1 >= first);
      const usual = hours.reduce((sum, hour) => sum + at(hour), 0) / Math.max(hours.length, 1);
      return { id, denied: at(DAYS * 24), usual, isNew: !hours.length };
    })
    .filter((/** @type {Excess} */ { denied, usual }) => denied > usual + 2 * Math.sqrt(usual) + LEAST)
    .sort((/** @type {Excess} */ a, /** @type {Excess} */ b) => b.denied - b.usual - (a.denied - a.usual));
}

/** @param {{from: number, read: import("./read.js").Reading<Excess[]>}} props */
function Unusual({ from, read }) {
  const since = new Date(from).toISOString();
  const rows = read.data ?? [];
  const most = rows.length ? rows[0].denied - rows[0].usual : 1;
  return html`<section class="card"><h2>Denied more than usual</h2>${
    read.error
      ? html`<${Problem} error=${read.error} />`
      : !rows.length
        ? html`<p class="muted">No agent, since ${moment(from)}, compared with these hours of the last 7 days.</p>`
        : html`<p class="small muted">Since ${moment(from)}, compared with these hours of the last 7 days</p><ol class="tops">${rows
            .slice(0, 6)
            .map(
              ({ id, denied, usual, isNew }) =>
                html`<li><span><a href=${to("decisions", { agent_id: id, result: "denied", from: since })}><${AgentName} id=${id} /></a></span><span class="number">${denied.toLocaleString("en")} <span class="muted">${isNew ? "new agent" : `usually ${usual < 10 ? Math.round(usual * 10) / 10 : Math.round(usual)}`}</span></span><i class="denied" style=${{ width: `${(100 * (denied - usual)) / most}%` }}></i></li>`,
            )}</ol>`
  }</section>`;
}

/** @typedef {{by: Record<string, number[]>, agents: [string, number][], tools: [string, number][], codes: [string, number][]}} Counts */

/** @param {number[]} times @param {number} step @param {AbortSignal} signal @returns {Promise<Counts>} */
async function counts(times, step, signal) {
  const from = new Date(times[0]).toISOString();
  const to = new Date(times[times.length - 1] + step - 1).toISOString();
  const count = async (/** @type {Record<string, any>} */ query) =>
    (await get("/v1/audit-logs/counts", { from, to, limit: 6, ...query }, signal)).data.values;
  const [results, ...tops] = await Promise.all([
    count({ by: "result", step: step / 1000 }),
    ...["agent", "tool", "code"].map((by) => count({ by })),
  ]);
  const by = Object.fromEntries(
    RESULTS.map((name) => [
      name,
      (results.find((/** @type {any} */ each) => each.value === name)?.counts ?? times.map(() => 0)).map(Number),
    ]),
  );
  const [agents, tools, codes] = tops.map((values) =>
    values
      .filter((/** @type {any} */ each) => each.value !== null)
      .map((/** @type {any} */ each) => [each.value, Number(each.count)]),
  );
  return { by, agents, tools, codes };
}
