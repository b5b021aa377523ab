// How two versions of a policy differ: its rules in sentences, all else by field.
import "../styles.js";
import { html } from "../vendor/preact.js";
import { Diff, differences } from "./diff.js";
import { origins } from "./rule_changes.js";
import { inWords } from "./rule_words.js";
import { Text } from "./text.js";

/** What says nothing about what it does. */
const QUIET = ["id", "agentId", "group", "version", "createdAt", "updatedAt"];

/** @param {{before: any, after: any}} props */
export function PolicyDiff({ before, after }) {
  const [{ rules: had = [], ...was }, { rules: has = [], ...is }] = [before ?? {}, after ?? {}];
  const fields = differences(was, is, QUIET).length > 0;
  const from = origins(had, has);
  const still = inOrder(from);
  const rows = [
    ...has.map((/** @type {any} */ rule, /** @type {number} */ at) => ({
      number: at + 1,
      before: from[at] === null ? undefined : had[/** @type {number} */ (from[at])],
      after: rule,
      moved: from[at] !== null && !still.has(at) && Number(from[at]) + 1,
    })),
    ...had
      .map((/** @type {any} */ rule, /** @type {number} */ at) => ({ number: at + 1, before: rule, at }))
      .filter((/** @type {any} */ each) => !from.includes(each.at)),
  ].filter((each) => each.moved || differences(each.before, each.after).length);
  if (!fields && !rows.length) return html`<p class="muted">Nothing differs.</p>`;
  return html`<div class="stack">${fields && html`<${Diff} before=${was} after=${is} leave=${QUIET} />`}
    ${rows.length > 0 && html`<div class="diff" role="table" aria-label="Rules that differ">${rows.map((each) => html`<${Row} ...${each} />`)}</div>`}</div>`;
}

/** The places that keep their order: the most that can be without a move. @param {(number | null)[]} from */
function inOrder(from) {
  /** @type {number[][]} */
  const ends = [];
  from.forEach((each, at) => {
    const before =
      each === null ? [] : ends.filter((chain) => chain.length && Number(from[chain[chain.length - 1]]) < each);
    ends.push(each === null ? [] : [...(before.sort((a, b) => b.length - a.length)[0] ?? []), at]);
  });
  return new Set(ends.sort((a, b) => b.length - a.length)[0]);
}

/** @param {any} rule */
function words(rule) {
  try {
    return inWords(rule);
  } catch {
    return rule.type; // it is being written
  }
}

/** In a sentence, and by field, because a sentence does not say all. @param {{number: number, before?: any, after?: any, moved?: number | false}} props */
function Row({ number, before, after, moved }) {
  const [was, is] = [before, after].map((each) => each && words(each));
  const inside = after ? differences(before, after) : [];
  return html`<div role="row"><span role="cell" class="path">rule ${number}${!after ? " is gone" : !before ? " is new" : moved ? ` was ${moved}` : ""}</span>
    <span role="cell">${was && was !== is && html`<del><span class="sr">before </span><${Text} value=${was} /></del>`}
      ${is && (was === is ? html`<span><${Text} value=${is} /></span>` : html`<ins><span class="sr">after </span><${Text} value=${is} /></ins>`)}
      ${inside.length > 0 && html`<${Diff} before=${before} after=${after} leave=${before ? [] : ["type"]} />`}</span></div>`;
}
