// The calls that wait, one line each, before their cards: what is grave, what differs, and how long is left.
import "../styles.js";
import { agents } from "../names.js";
import { now, span } from "../time.js";
import { to } from "../url.js";
import { html, useEffect, useState } from "../vendor/preact.js";
import { compared, GRAVE, inBrief } from "./approval_card.js";
import { Text } from "./text.js";

/** How many are compared for the list, two at a time; the others once their cards are near. */
const MOST = 100;
const MARKS = { grave: "look closely", other: "unusual", none: "as usual", unknown: "not compared" };
const KINDS = [...GRAVE, "new", "more"];

/** @typedef {keyof typeof MARKS} Mark */

/** Its rows are those with which the screen was opened, so that it moves no card.
 * @param {{list: Approval[]}} props */
export function ApprovalList({ list }) {
  const [found, setFound] = useState(/** @type {Record<string, Usual>} */ ({}));
  const [agent, setAgent] = useState("");
  const [tool, setTool] = useState("");
  const [mark, setMark] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    const waiting = list.slice(0, MOST);
    const read = async () => {
      for (let each = waiting.shift(); each && !stop.signal.aborted; each = waiting.shift()) {
        const { id } = each;
        await compared(id).then(
          (usual) => setFound((before) => ({ ...before, [id]: usual })),
          () => {}, // its card says why
        );
      }
    };
    read();
    read();
    return () => stop.abort();
  }, []);
  const of = (/** @type {Approval} */ each) => marked(found[each.id]);
  const rows = list.filter(
    (each) =>
      (!agent || each.agentId === agent) && (!tool || each.toolName === tool) && (!mark || of(each).mark === mark),
  );
  const choice = (
    /** @type {string} */ label,
    /** @type {string} */ value,
    /** @type {(value: string) => void} */ set,
    /** @type {[string, string][]} */ options,
  ) =>
    html`<select aria-label=${label} value=${value} onChange=${(/** @type {any} */ event) => set(event.target.value)}><option value="">${label}: all</option>${options.map(([name, words]) => html`<option value=${name}>${words}</option>`)}</select>`;
  return html`<nav class="card waiting-calls" aria-label="Calls that wait"><div class="chips">
      ${choice("Agent", agent, setAgent, [...new Map(list.map((each) => [each.agentId, called(each)]))])}
      ${choice(
        "Tool",
        tool,
        setTool,
        [...new Set(list.map((each) => each.toolName))].map((name) => [name, name]),
      )}
      ${choice("Mark", mark, setMark, Object.entries(MARKS))}</div>
    <ol>${rows.map((each) => html`<${Row} key=${each.id} approval=${each} ...${of(each)} />`)}</ol></nav>`;
}

/** What people call its agent. @param {Approval} approval */
const called = (approval) =>
  agents.find(approval.agentId)?.name ?? approval.agentName ?? `…${approval.agentId.slice(-8)}`;

/** @param {{approval: Approval, mark: Mark, differ: Usual["values"]}} props */
function Row({ approval, mark, differ }) {
  const left = (Date.parse(approval.expiresAt) - now.value) / 1000;
  const show = (/** @type {Event} */ event) => {
    const card = document.getElementById(`approval-${approval.id}`);
    if (!card) return;
    event.preventDefault();
    card.scrollIntoView();
    card.focus({ preventScroll: true });
  };
  const state = approval.status === "pending" ? (left > 0 ? span(left) : "over") : approval.status;
  return html`<li><a class=${mark} href=${to(`approvals/${approval.id}`)} onClick=${show}><span class="mark" role="img" aria-label=${MARKS[mark]}></span><code><${Text} value=${approval.toolName} /></code>
    <span class="muted"><${Text} value=${called(approval)} /></span><span class="number muted">${state}</span>
    <span class="differs">${differ.length ? differ.slice(0, 2).map((each, index) => html`${index ? "; " : ""}<b><${Text} value=${each.path} /></b> <${Text} value=${each.unusual} />`) : inBrief(approval).slice(approval.toolName.length)}</span></a></li>`;
}

/** How a call is marked, and the values that differ most first. @param {Usual | undefined} usual */
function marked(usual) {
  const differ = (usual?.values ?? [])
    .filter((each) => each.difference)
    .sort((a, b) => KINDS.indexOf(a.difference ?? "") - KINDS.indexOf(b.difference ?? ""));
  const grave = GRAVE.includes(differ[0]?.difference ?? "");
  const mark = /** @type {Mark} */ (!usual ? "unknown" : grave ? "grave" : differ.length ? "other" : "none");
  return { mark, differ };
}
