// Decisions: live, filtered by the address, each with its explanation in a drawer.
import { Icon } from "../icons.js";
import { useFeed } from "../decisions_feed.js";
import { useKeys } from "../keys.js";
import { agents } from "../names.js";
import { CopyButton, curl } from "../parts/copy.js";
import { Entries } from "../parts/entries.js";
import { FILTERS, Filters } from "../parts/filters.js";
import { Later } from "../parts/later.js";
import { Empty, Problem } from "../parts/problem.js";
import { address, param, place, setParams } from "../url.js";
import { Fragment, html, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";

export function Screen() {
  const query = place.value.query;
  const filters = Object.fromEntries(FILTERS.flatMap((name) => (query.get(name) ? [[name, /** @type {string} */ (query.get(name))]] : [])));
  const feed = useFeed(filters, !filters.to);
  const [all, setAll] = useState(false);
  const top = useRef(0);
  const byScroll = useRef(false);
  const pause = (/** @type {boolean} */ paused, /** @type {boolean} */ scrolled) => {
    byScroll.current = paused && scrolled;
    feed.pause(paused);
    if (!paused && !scrolled) document.querySelector(".table.tall")?.scrollTo({ top: 0 });
  };
  const moved = (/** @type {number} */ to) => {
    top.current = to;
    if (to > 80 && !feed.paused) pause(true, true);
    else if (to < 8 && feed.paused && byScroll.current) pause(false, true);
  };
  useKeys({ p: () => pause(!feed.paused, false), y: () => navigator.clipboard.writeText(location.href), e: () => navigator.clipboard.writeText(curl("GET", address("/v1/audit-logs", filters))) });
  const shown = useMemo(() => (all ? feed.entries : feed.entries.filter((each) => !each.type)), [feed.entries, all]);
  const entry = param("entry");
  const index = shown.findIndex((each) => each.id === entry);
  const open = (/** @type {string | null} */ id, replace = false) => setParams({ entry: id }, { replace });
  const step = (/** @type {number} */ by) => (index >= 0 && shown[index + by] ? () => open(shown[index + by].id, true) : undefined);
  useEffect(() => { agents.all; }, []);
  const known = index >= 0 ? shown[index] : undefined;
  const about = feed.entries.filter((each) => each.type && (each.decisionId === entry || (known?.approvalId && each.approvalId === known.approvalId)));
  return html`<div class="page full">
    <div class="head"><h1>Decisions</h1><span class="spring"></span>
      <${Live} feed=${feed} toggle=${() => pause(!feed.paused, false)} />
      <details class="menu-button"><summary class="button"><${Icon} name="download" />Export</summary><div class="pop">
        ${["ndjson", "csv"].map((format) => html`<a download href=${address("/v1/audit-logs/export", { ...filters, format })}>${format === "csv" ? "CSV, for spreadsheets" : "NDJSON, exact"}</a>`)}
        <${CopyButton} label="Copy as curl" text=${() => curl("GET", address("/v1/audit-logs", filters))} /></div></details></div>
    <${Filters} filters=${filters} all=${all} setAll=${setAll} />
    ${feed.error !== null && html`<${Problem} error=${feed.error} />`}
    ${feed.paused && feed.missed > 0 && html`<button type="button" class="fresh" onClick=${() => pause(false, false)}>Paused · ${feed.missed.toLocaleString("en")} new, show them</button>`}
    <${Entries} tall entries=${feed.entries} all=${all} selected=${entry} open=${(/** @type {Entry} */ row) => open(row.id)}
      end=${() => feed.older()} moved=${moved} loading=${feed.reading} empty=${feed.error === null && html`<${Nothing} filters=${filters} floor=${feed.floor} />`} />
    ${entry && html`<${Later} load=${() => import("../parts/why.js")} name="Why" key=${entry} id=${entry} known=${known} about=${about} close=${() => open(null)} previous=${step(-1)} next=${step(1)} />`}
  </div>`;
}

/** @param {{feed: import("../decisions_feed.js").Feed, toggle: () => void}} props */
function Live({ feed, toggle }) {
  if (!feed.live) return html`<span class="muted">up to a fixed time</span>`;
  const state = feed.paused ? "paused" : feed.open ? "live" : "connecting";
  return html`<${Fragment}><span class=${`live ${state}`} role="status"><i></i>${state}</span>
    <button type="button" onClick=${toggle} aria-keyshortcuts="p"><${Icon} name=${feed.paused ? "play" : "pause"} />${feed.paused ? "Resume" : "Pause"}</button><//>`;
}

/** @param {{filters: Record<string, string>, floor: string}} props */
function Nothing({ filters, floor }) {
  const some = Object.keys(filters).length > 0;
  return html`<${Empty} icon="decisions" title=${some ? "Nothing matches" : "No decision yet"}>
    <p>${some ? "No entry of the log matches all of these filters." : "As soon as an agent asks whether it may call a tool, the answer appears here."}</p>
    ${floor && html`<p>Retention dropped entries before ${floor}.</p>`}
    ${some && html`<button type="button" onClick=${() => setParams(Object.fromEntries(FILTERS.map((name) => [name, null])))}>Remove all filters</button>`}<//>`;
}
