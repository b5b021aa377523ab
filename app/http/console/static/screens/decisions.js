// Decisions: live, filtered by the address, each with its explanation in a drawer.
import { useFeed } from "../decisions_feed.js";
import { Icon } from "../icons.js";
import { useKeys } from "../keys.js";
import { agents, tools } from "../names.js";
import { Entries, FilterField } from "../parts/entries.js";
import { Later, Problem } from "../parts/loading.js";
import { address, param, place, setParams } from "../url.js";
import { Fragment, html, useMemo, useRef, useState } from "../vendor/preact.js";

const MORE = ["action", "rule_type", "policy_id", "key_id", "session", "user", "subject", "shadow"];
const FILTERS = ["result", "agent_id", "tool_name", "q", "from", "to", ...MORE];

const more = () => import("../parts/more_filters.js");

export function Screen() {
  const query = place.value.query;
  const filters = Object.fromEntries(
    FILTERS.flatMap((name) => (query.get(name) ? [[name, /** @type {string} */ (query.get(name))]] : [])),
  );
  const feed = useFeed(filters, !filters.to);
  const [all, setAll] = useState(false);
  const [exporting, setExporting] = useState(false);
  const byScroll = useRef(false);
  const pause = (/** @type {boolean} */ paused, /** @type {boolean} */ scrolled) => {
    byScroll.current = paused && scrolled;
    feed.pause(paused);
    if (!paused && !scrolled) document.querySelector(".table.tall")?.scrollTo({ top: 0 });
  };
  const moved = (/** @type {number} */ to) => {
    if (to > 80 && !feed.paused) pause(true, true);
    else if (to < 8 && feed.paused && byScroll.current) pause(false, true);
  };
  useKeys({
    p: () => pause(!feed.paused, false),
    y: () => navigator.clipboard.writeText(location.href),
    e: () =>
      import("../parts/copy.js").then(({ curl }) =>
        navigator.clipboard.writeText(curl("GET", address("/v1/audit-logs", filters))),
      ),
  });
  const shown = useMemo(() => (all ? feed.entries : feed.entries.filter((each) => !each.type)), [feed.entries, all]);
  const entry = param("entry");
  const index = shown.findIndex((each) => each.id === entry);
  const open = (/** @type {string | null} */ id, replace = false) => setParams({ entry: id }, { replace });
  const step = (/** @type {number} */ by) =>
    index >= 0 && shown[index + by] ? () => open(shown[index + by].id, true) : undefined;
  const known = index >= 0 ? shown[index] : undefined;
  const about = feed.entries.filter(
    (each) => each.type && (each.decisionId === entry || (known?.approvalId && each.approvalId === known.approvalId)),
  );
  return html`<div class="page full">
    <div class="head"><h1>Decisions</h1><span class="spring"></span>
      <${Live} feed=${feed} toggle=${() => pause(!feed.paused, false)} />
      <details class="menu-button" onToggle=${(/** @type {any} */ event) => setExporting(event.target.open)}><summary class="button"><${Icon} name="download" />Export</summary>
        ${exporting && html`<${Later} load=${() => import("../parts/export.js")} name="Export" filters=${filters} />`}</details></div>
    <${Filters} filters=${filters} all=${all} setAll=${setAll} />
    <section class="card histogram"><${Later} load=${() => import("../parts/histogram.js")} name="Histogram" filters=${filters} /></section>
    <${Problem} error=${!feed.entries.length && feed.error} />
    <${Entries} tall entries=${feed.entries} all=${all} selected=${entry} open=${(/** @type {Entry} */ row) => open(row.id)}
      end=${() => feed.older()} moved=${moved} loading=${feed.reading} empty=${feed.error === null && html`<${Later} load=${more} name="Nothing" filters=${filters} names=${FILTERS} floor=${feed.floor} />`} />
    ${entry && html`<${Later} load=${() => import("../parts/why.js")} name="Why" id=${entry} known=${known} about=${about} close=${() => open(null)} previous=${step(-1)} next=${step(1)} />`}
  </div>`;
}

/** @param {{feed: import("../decisions_feed.js").Feed, toggle: () => void}} props */
function Live({ feed, toggle }) {
  if (!feed.live) return html`<span class="muted">up to a fixed time</span>`;
  const state = feed.paused ? "paused" : feed.open ? "live" : "connecting";
  const missed = feed.paused && feed.missed > 0 && `${feed.missed.toLocaleString("en")} new`;
  return html`<${Fragment}><span class=${`live ${state} ${missed ? "sr" : ""}`} role="status"><i></i>${state}</span>
    ${missed && html`<button type="button" class="fresh" aria-label="${missed}, show them" onClick=${toggle}>${missed}</button>`}
    <button type="button" onClick=${toggle}><${Icon} name=${feed.paused ? "play" : "pause"} />${feed.paused ? "Resume" : "Pause"}</button><//>`;
}

/** The filters of the log, kept in the address. @param {{filters: Record<string, string>, all: boolean, setAll: (all: boolean) => void}} props */
function Filters({ filters, all, setAll }) {
  const [opened, setOpened] = useState(false);
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) =>
    setParams({ [name]: event.target.value || null });
  const sorted = [...(agents.all?.values() ?? [])].sort((a, b) => a.name.localeCompare(b.name));
  const given = MORE.filter((name) => filters[name]);
  return html`<div class="filters">
    <div class="chips" role="group" aria-label="Filters">
      ${["allowed", "escalated", "denied"].map(
        (result) => html`<button type="button" class="chip" aria-pressed=${filters.result === result}
        onClick=${() => setParams({ result: filters.result === result ? null : result })}><i class=${`dot ${result}`}></i>${result}</button>`,
      )}
      <select aria-label="Agent" data-filter value=${filters.agent_id ?? ""} onChange=${set("agent_id")}><option value="">Every agent</option>
        ${sorted.map((each) => html`<option value=${each.id}>${each.name}</option>`)}
        ${filters.agent_id && !agents.find(filters.agent_id) && html`<option value=${filters.agent_id}>${filters.agent_id}</option>`}</select>
      <${FilterField} name="tool_name" value=${filters.tool_name} aria-label="Tool" list="tool-names" placeholder="Every tool" />
      <datalist id="tool-names">${[...(tools.all?.keys() ?? [])].map((name) => html`<option value=${name} />`)}</datalist>
      <${FilterField} name="q" value=${filters.q} aria-label="Text" type="search" maxlength="255" placeholder="Any text" />
      <button type="button" class="quiet" aria-expanded=${opened} onClick=${() => setOpened(!opened)}>${opened ? "Fewer filters" : "More filters"}</button>
      <label class="check" title="Also what became of approvals and calls"><input type="checkbox" checked=${all} onChange=${(/** @type {any} */ event) => setAll(event.target.checked)} /> All entries</label>
    </div>
    ${opened && html`<${Later} load=${more} name="MoreFilters" filters=${filters} />`}
    ${given.length > 0 && html`<${Later} load=${more} name="InForce" filters=${filters} names=${given} />`}
  </div>`;
}
