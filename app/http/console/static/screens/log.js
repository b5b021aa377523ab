// The log: whether it is intact, how far it is sealed, and a verification on demand.
import "../styles.js";
import { get } from "../api.js";
import { CopyButton } from "../parts/copy.js";
import { Problem, Skeleton } from "../parts/loading.js";
import { useRead } from "../parts/read.js";
import { Pill, Text, Time } from "../parts/text.js";
import { can, lacks } from "../session.js";
import { duration } from "../time.js";
import { html, useRef, useState } from "../vendor/preact.js";

const count = (/** @type {unknown} */ value) => Number(value).toLocaleString("en");
const words = (/** @type {number} */ count, /** @type {string} */ one, many = `${one}s`) => `${Number(count).toLocaleString("en")} ${Number(count) === 1 ? one : many}`;

export function Screen() {
  const status = useRead("log status", async (signal) => /** @type {any} */ ((await get("/v1/audit-logs/status", {}, signal)).data));
  const data = status.data;
  return html`<div class="page"><div class="head"><h1>Log</h1><p class="lead">Every answer has an entry, sealed into segments that form a chain. Numbers have no gaps, so nothing can be left out unnoticed.</p></div>
    <${Problem} error=${status.error} retry=${status.reload} />
    ${data ? html`<${Chain} status=${data} />` : status.slow && html`<${Skeleton} rows=${4} />`}
    <${Verify} total=${data?.lastSequence ?? 0} /></div>`;
}

/** @param {{status: any}} props */
function Chain({ status }) {
  const entries = Number(status.lastSequence) - Number(status.firstSequence) + 1;
  const shown = Math.min(60, Number(status.segments));
  return html`<section class="card stack"><h2>${words(Math.max(0, entries), "entry", "entries")} · ${count(status.firstSequence)} to ${count(status.lastSequence)}</h2>
    <div class="chain" aria-hidden="true">${Number(status.segments) > shown && html`<span class="muted small">${words(Number(status.segments) - shown, "older segment")}</span>`}${Array.from({ length: shown }, () => html`<i></i>`)}<i class=${Number(status.unsealed) ? "open" : "none"}></i></div>
    <dl class="facts"><dt>Sealed</dt><dd>${words(status.segments, "segment")}, up to entry ${count(status.sealedSequence)}</dd>
      <dt>Not sealed yet</dt><dd>${words(status.unsealed, "entry", "entries")}${Number(status.lagSeconds) > 0 ? `, the oldest for ${duration(Number(status.lagSeconds))}` : ""}</dd>
      ${Number(status.firstSequence) > 1 && html`<dt>Retention</dt><dd>dropped the entries before ${count(status.firstSequence)}</dd>`}
      ${Number(status.poison) > 0 && html`<dt>Replaced</dt><dd class="error">${words(status.poison, "entry", "entries")} could not be sealed unchanged; placeholders say where</dd>`}
      ${status.verifiedAt && html`<dt>Verified</dt><dd>in the background <${Time} at=${status.verifiedAt} /></dd>`}</dl>
    ${status.finding && html`<${Finding} finding=${status.finding} />`}</section>`;
}

/** @param {{finding: any}} props */
const Finding = ({ finding }) => html`<div class="alert" role="alert"><div class="stack"><p><b>The log has been ${finding.fault}</b> in ${finding.part}, segment ${finding.segment}.</p><p><${Text} value=${finding.message} /></p>
  <p>Keep the store's files as they are, compare with an archive or a checkpoint that is kept elsewhere, and find out who could write to the store. Decisions go on; what is proven ends before this segment.</p></div></div>`;

/** @param {{total: number}} props */
function Verify({ total }) {
  const [line, setLine] = useState("");
  const [state, setState] = useState(/** @type {{running: boolean, entries: number, segments: number, last?: any, error?: unknown}} */ ({ running: false, entries: 0, segments: 0 }));
  const stop = useRef(new AbortController());
  const run = async () => {
    stop.current = new AbortController();
    let [checkpoint, entries, segments] = [line.trim(), 0, 0];
    setState({ running: true, entries, segments });
    try {
      for (;;) {
        const { data } = await get("/v1/audit-logs/verify", { checkpoint: checkpoint || undefined }, stop.current.signal);
        entries += Number(data.entries);
        segments += Number(data.segments);
        const running = data.intact && !data.complete;
        setState({ running, entries, segments, last: data });
        if (!running) return;
        checkpoint = data.checkpoint;
      }
    } catch (error) {
      setState((before) => ({ ...before, running: false, error: stop.current.signal.aborted ? undefined : error }));
    }
  };
  const { last } = state;
  return html`<section class="card stack"><h2>Verify</h2>
    <p class="muted">Recomputes the chain from the entries. With a checkpoint that you keep elsewhere it also shows that the log was not rewritten as a whole, which nothing else can.</p>
    <label>Checkpoint to compare with (optional)<input class="mono" value=${line} spellcheck=${false} placeholder="The line that an earlier verification gave" onInput=${(/** @type {any} */ event) => setLine(event.target.value)} /></label>
    <div class="buttons start"><button type="button" class="primary" disabled=${state.running || !can("audit")} title=${lacks("audit")} onClick=${run}>Verify now</button>${state.running && html`<button type="button" onClick=${() => stop.current.abort()}>Stop</button>`}</div>
    ${state.running && html`<p role="status">${words(state.entries, "entry", "entries")} of about ${Number(total).toLocaleString("en")} <progress max=${Number(total)} value=${state.entries} aria-label="Verified"></progress></p>`}
    <${Problem} error=${state.error} />
    ${last && !state.running && (last.finding ? html`<${Finding} finding=${last.finding} />` : html`<div class="stack" role="status"><p class="verdict"><${Pill} is="intact" /> ${words(state.entries, "entry", "entries")} in ${words(state.segments, "segment")} and ${words(last.changes, "change")} verified; ${words(last.unsealed, "entry", "entries")} not sealed yet.</p>
      ${last.checkpoint && html`<div class="secret"><span class="small muted">Checkpoint, to keep elsewhere</span><code>${last.checkpoint}</code><${CopyButton} text=${last.checkpoint} label="Copy" /></div>`}
      <details><summary class="muted">What was checked, and what was not</summary><ul class="words">${last.checked.map((/** @type {string} */ each) => html`<li>✓ ${each}</li>`)}${last.unchecked.map((/** @type {string} */ each) => html`<li class="muted">not: ${each}</li>`)}</ul></details></div>`)}</section>`;
}
