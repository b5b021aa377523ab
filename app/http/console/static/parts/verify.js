// Verifying the log on demand: in steps, from its beginning or against a checkpoint that is kept elsewhere.
import { get } from "../api.js";
import { can, lacks } from "../session.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { CopyButton } from "./copy.js";
import { Problem } from "./loading.js";
import { Pill, Text } from "./text.js";

/** "1 entry", "1,204 entries". @param {unknown} count @param {string} one @param {string} [many] */
export const words = (count, one, many = `${one}s`) =>
  `${Number(count).toLocaleString("en")} ${Number(count) === 1 ? one : many}`;

/** @param {{finding: any}} props */
export const Finding = ({
  finding,
}) => html`<div class="alert" role="alert"><div class="stack"><p><b>The log has been ${finding.fault}</b> in ${finding.part}, segment ${finding.segment}.</p><p><${Text} value=${finding.message} /></p>
  <p>Keep the store's files as they are, compare with an archive or a checkpoint that is kept elsewhere, and find out who could write to the store. Decisions go on; what is proven ends before this segment.</p></div></div>`;

/** What was pasted, as parameters: the line of an earlier verification, or a signed checkpoint. @param {string} text */
function compared(text) {
  const lines = text
    .trim()
    .split(/\r?\n/)
    .map((each) => each.trim());
  return lines.length > 1 ? { note: `${lines.slice(0, 3).join("\n")}\n` } : { checkpoint: lines[0] || undefined };
}

/** @param {{total: number}} props */
export function Verify({ total }) {
  const [text, setText] = useState("");
  const [state, setState] = useState(
    /** @type {{running: boolean, entries: number, segments: number, last?: any, error?: unknown}} */ ({
      running: false,
      entries: 0,
      segments: 0,
    }),
  );
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const run = async () => {
    stop.current = new AbortController();
    let [asked, entries, segments] = [/** @type {Record<string, any>} */ (compared(text)), 0, 0];
    setState({ running: true, entries, segments });
    try {
      for (;;) {
        const { data } = await get("/v1/audit-logs/verify", asked, stop.current.signal);
        entries += Number(data.entries);
        segments += Number(data.segments);
        const running = data.intact && !data.complete;
        setState({ running, entries, segments, last: data });
        if (!running) return;
        asked = { ...asked, checkpoint: data.checkpoint, continues: true };
      }
    } catch (error) {
      setState((before) => ({ ...before, running: false, error: stop.current.signal.aborted ? undefined : error }));
    }
  };
  const { last } = state;
  return html`<section class="card stack"><h2>Verify</h2>
    <p class="muted">Recomputes the chain from the entries. With a checkpoint that you keep elsewhere it also shows that the log was not rewritten as a whole, which nothing else can.</p>
    <label>Checkpoint to compare with (optional)<textarea class="mono" rows="3" value=${text} spellcheck=${false} placeholder="A signed checkpoint, or the line that an earlier verification gave" onInput=${(/** @type {any} */ event) => setText(event.target.value)}></textarea></label>
    <div class="buttons start"><button type="button" class="primary" disabled=${state.running || !can("audit")} title=${lacks("audit")} onClick=${run}>Verify now</button>${state.running && html`<button type="button" onClick=${() => stop.current.abort()}>Stop</button>`}</div>
    ${state.running && html`<p role="status">${words(state.entries, "entry", "entries")} of about ${Number(total).toLocaleString("en")} <progress max=${Number(total)} value=${state.entries} aria-label="Verified"></progress></p>`}
    <${Problem} error=${state.error} />
    ${
      last &&
      !state.running &&
      (last.finding
        ? html`<${Finding} finding=${last.finding} />`
        : html`<div class="stack" role="status"><p class="verdict"><${Pill} is="intact" /> ${words(state.entries, "entry", "entries")} in ${words(state.segments, "segment")} and ${words(last.changes, "change")} verified; ${words(last.unsealed, "entry", "entries")} not sealed yet.</p>
      ${last.checkpoint && html`<div class="secret"><span class="small muted">Checkpoint, to keep elsewhere</span><code>${last.checkpoint}</code><${CopyButton} text=${last.checkpoint} label="Copy" /></div>`}
      <details><summary class="muted">What was checked, and what was not</summary><ul class="words">${last.checked.map((/** @type {string} */ each) => html`<li>✓ <${Text} value=${each} /></li>`)}${last.unchecked.map((/** @type {string} */ each) => html`<li>not: <${Text} value=${each} /></li>`)}</ul></details></div>`)
    }</section>`;
}
