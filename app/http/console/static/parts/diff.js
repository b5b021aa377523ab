// What differs between two values, one row for each path.
import "../styles.js";
import { write } from "../exact.js";
import { leaves } from "../leaves.js";
import { html } from "../vendor/preact.js";
import { Value } from "./text.js";

/** @param {unknown} before @param {unknown} after @param {string[]} [leave] paths that say nothing, such as updatedAt */
export function differences(before, after, leave = []) {
  const [was, is] = [before ?? {}, after ?? {}].map(
    (each) => new Map(leaves(each).map((leaf) => [leaf.path, leaf.value])),
  );
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((path) => !leave.includes(path) && path !== "" && write(was.get(path)) !== write(is.get(path)))
    .map((path) => ({ path, had: was.has(path), has: is.has(path), before: was.get(path), after: is.get(path) }));
}

/** @param {{before: unknown, after: unknown, leave?: string[]}} props */
export function Diff({ before, after, leave }) {
  const rows = differences(before, after, leave);
  if (!rows.length) return html`<p class="muted">Nothing differs.</p>`;
  return html`<div class="diff" role="table" aria-label="Differences">${rows.map(
    (row) => html`<div role="row">
    <code role="cell" class="path">${row.path}</code>
    <span role="cell">${row.had && html`<del><span class="sr">before </span><${Value} value=${row.before} /></del>`}
      ${row.has && html`<ins><span class="sr">after </span><${Value} value=${row.after} /></ins>`}</span></div>`,
  )}</div>`;
}
