// How many decisions match, over time: a span is drawn, chosen or typed, and the list follows.
import "../styles.js";
import { all, get } from "../api.js";
import { can } from "../session.js";
import { isLocal, moment, setLocal, written } from "../time.js";
import { setParams } from "../url.js";
import { Fragment, html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { Chart } from "./chart.js";
import { useRead } from "./read.js";
import { Text } from "./text.js";

const RESULTS = ["allowed", "escalated", "denied"];
const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
/** The lengths of a bar. */
const STEPS = [1, 5, 15, 30]
  .map((each) => each * SECOND)
  .concat(
    [1, 5, 15, 30].map((each) => each * MINUTE),
    [1, 3, 6, 12].map((each) => each * HOUR),
    [1, 2, 7, 14, 31].map((each) => each * DAY),
  );
const BARS = 90;
/** Words, length, and to which multiple the beginning is rounded down. @type {[string, number, number][]} */
const PRESETS = [
  ["15 min", 15 * MINUTE, MINUTE],
  ["1 h", HOUR, MINUTE],
  ["24 h", DAY, HOUR],
  ["7 d", 7 * DAY, HOUR],
];
const AGAIN_MS = 30_000;
/** Filters for which the service reads entries to count them: not again by itself. */
const READ = ["q", "action", "rule_type", "key_id", "session", "user", "subject", "shadow"];

/** A time of a filter, in ms, as the service reads it: UTC without an offset, and a date as its start or its end. @param {string} text @param {boolean} end */
function timeOf(text, end) {
  const date = /^\d{4}-\d\d-\d\d$/.test(text);
  return Date.parse(date || /(Z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`) + (date && end ? DAY - 1 : 0);
}

/** @param {number} at */
const iso = (at) => new Date(at).toISOString();

/** Where the preset begins, which is now a little further back than its length. @param {[string, number, number]} preset */
const begins = ([, length, unit]) => Math.floor((Date.now() - length) / unit) * unit;

/** @param {Record<string, string>} filters @param {AbortSignal} signal */
async function counted(filters, signal) {
  const until = filters.to ? timeOf(filters.to, true) : Date.now();
  const from = filters.from ? timeOf(filters.from, false) : Math.floor(until / HOUR) * HOUR - 23 * HOUR;
  const step = STEPS.find((each) => (until - from) / each < BARS) ?? 31 * DAY;
  const times = Array.from(
    { length: Math.max(1, Math.floor((until - from) / step) + 1) },
    (_, index) => from + index * step,
  );
  const span = { from: iso(from), to: filters.to };
  const query = { ...filters, ...span, by: "result", step: step / SECOND };
  const [{ data }, ticks] = await Promise.all([
    get("/v1/audit-logs/counts", query, signal),
    can("audit") ? changes(filters.agent_id, span, signal) : [],
  ]);
  const series = RESULTS.map((name) => {
    const found = data.values.find((/** @type {any} */ each) => each.value === name);
    return { name, sum: Number(found?.count ?? 0), values: times.map((_, index) => Number(found?.counts[index] ?? 0)) };
  });
  return { times, step, series, ticks };
}

/** What was changed meanwhile: of policies, or all that concerned the agent. @param {string | undefined} agent @param {{from: string, to?: string}} span @param {AbortSignal} signal */
async function changes(agent, span, signal) {
  /** @type {Change[]} */
  const found = agent
    ? (await get(`/v1/agents/${agent}/history`, span, signal)).data.changes
    : await all("/v1/changes", { ...span, resource_type: "policy", limit: 100 }, 200, 2, signal);
  return found.map((each) => ({
    at: Date.parse(each.timestamp),
    name: `${moment(each.timestamp)} ${each.actorName} ${each.kind} ${(each.after ?? each.before)?.name ?? `the ${each.resourceType.replace("_", " ")}`}${each.reason ? `: ${each.reason}` : ""}`,
  }));
}

/** @param {{filters: Record<string, string>}} props */
export function Histogram({ filters }) {
  const read = useRead(`histogram ${JSON.stringify(filters)}`, (signal) => counted(filters, signal));
  const ended = Boolean(filters.to);
  const still = ended || READ.some((name) => filters[name]);
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && !still && read.reload(), AGAIN_MS);
    return () => clearInterval(timer);
  }, [still]);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [width, setWidth] = useState(960);
  useLayoutEffect(() => {
    const measure = () => setWidth(box.current?.clientWidth ?? 960);
    measure();
    addEventListener("resize", measure);
    return () => removeEventListener("resize", measure);
  }, []);
  const found = read.data;
  const pick = (/** @type {number} */ first, /** @type {number} */ last) =>
    found &&
    setParams({ from: iso(found.times[first]), to: iso(found.times[last] + found.step - 1) }, { replace: false });
  const sum = found?.series.reduce((total, each) => total + each.sum, 0) ?? 0;
  return html`<${Fragment}><header class="line" ref=${box}><p role="status">${
    found
      ? html`<b class="number">${sum.toLocaleString("en")}</b> ${sum === 1 ? "decision" : "decisions"} ${filters.from || ended ? "" : "in 24 h"}`
      : read.error
        ? html`<span class="muted">Not counted: <${Text} value=${/** @type {Error} */ (read.error).message} /></span>`
        : html`<span class="muted">Counting…</span>`
  }</p>
    ${found?.series.filter((each) => each.sum && each.sum < sum).map((each) => html`<span class="number"><i class=${`dot ${each.name}`}></i> ${each.sum.toLocaleString("en")} <span class="muted">${each.name}</span></span>`)}
    <span class="spring"></span><${Spans} filters=${filters} /></header>
    ${found && html`<${Chart} times=${found.times} step=${found.step} series=${found.series} ticks=${found.ticks} pick=${pick} size=${[width, 104]} tick=${filters.agent_id ? "something that concerns the agent changed" : undefined} />`}<//>`;
}

/** @param {{filters: Record<string, string>}} props */
function Spans({ filters }) {
  const { from, to } = filters;
  const set = (/** @type {Record<string, string | null>} */ span) => setParams(span, { replace: false });
  const chosen = from && !to && Date.now() - timeOf(from, false);
  const input = (/** @type {"from" | "to"} */ name, /** @type {string} */ words) => {
    const at = filters[name] ? timeOf(filters[name], name === "to") : NaN;
    const typed = (/** @type {any} */ { target }) => {
      const given = Date.parse(isLocal.value ? target.value : `${target.value}Z`);
      set({ [name]: target.value ? iso(given) : null });
    };
    return html`<label>${words}<input type="datetime-local" step="1" value=${Number.isNaN(at) ? "" : written(at).slice(0, 19)} onChange=${typed} /></label>`;
  };
  return html`<div class="line spans">
    <div class="switch" role="group" aria-label="Span">${PRESETS.map((preset) => {
      const [words, length, unit] = preset;
      const pressed = chosen && chosen >= length && chosen < length + unit + 10 * MINUTE;
      return html`<button type="button" aria-pressed=${Boolean(pressed)} onClick=${() => set({ from: pressed ? null : iso(begins(preset)), to: null })}>${words}</button>`;
    })}</div>
    <details class="menu-button"><summary class="button">${from || to ? `${from ? moment(timeOf(from, false)) : "…"} – ${to ? moment(timeOf(to, true)) : "now"}` : "From – to"}</summary>
      <div class="pop picker">${input("from", "From")}${input("to", "To")}<button type="button" onClick=${() => set({ from: null, to: null })}>Any time</button></div></details>
    <div class="switch" role="group" aria-label="Times">${[false, true].map((local) => html`<button type="button" aria-pressed=${isLocal.value === local} onClick=${() => setLocal(local)}>${local ? "local" : "UTC"}</button>`)}</div></div>`;
}
