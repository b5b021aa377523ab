// Text of agents and callers: always a text node, with codes for what cannot be seen.
import { absolute, clock, now, relative } from "../time.js";
import { pieces, write } from "../exact.js";
import { html, useState } from "../vendor/preact.js";

/** Text with codes for hidden characters and for letters of another script than their word. marks: what is to be looked at.
 * @param {{value: string | null | undefined, lines?: boolean, marks?: Set<number>}} props */
export function Text({ value, lines = false, marks }) {
  const found = pieces(value ?? "", { lines, marks });
  return html`<bdi>${found.map((each) =>
    each.hidden
      ? html`<span class="unseen" title="A character that cannot be seen">${each.text}</span>`
      : each.code
        ? html`<span class="foreign" title="A letter of another script than its word">${each.text}<span class="unseen">${each.code}</span></span>`
        : each.marked
          ? html`<mark>${each.text}</mark>`
          : each.text,
  )}</bdi>`;
}

const LONG = 240;

/** A JSON value exactly as it was sent; a long one is folded, with its length. marks: in a text, what is to be looked at.
 * @param {{value: unknown, open?: boolean, onOpen?: () => void, marks?: Set<number>}} props */
export function Value({ value, open = false, onOpen, marks }) {
  const [opened, setOpened] = useState(open);
  const shown = typeof value === "string" ? quoted(value, marks) : { text: write(value, 0), marks: undefined };
  const { text } = shown;
  const folded = isLong(value) && !opened;
  return html`<code class="value"><${Text} value=${folded ? text.slice(0, LONG) : text} marks=${shown.marks} lines />${
    folded &&
    html`… <button type="button" class="link"
    onClick=${() => {
      setOpened(true);
      onOpen?.();
    }}>Show all ${text.length.toLocaleString("en")} characters</button>`
  }</code>`;
}

/** A string as JSON, except that its lines are lines, with the places of its marks there.
 * @param {string} value @param {Set<number>} [marks] */
function quoted(value, marks) {
  const escaped = (/** @type {string} */ text) =>
    text
      .split("\n")
      .map((line) => JSON.stringify(line).slice(1, -1))
      .join("\n");
  if (!marks?.size) return { text: `"${escaped(value)}"`, marks: undefined };
  let [text, at] = ['"', 0];
  const places = new Set();
  for (const character of value) {
    const shown = escaped(character);
    if (marks.has(at)) for (let each = 0; each < shown.length; each++) places.add(text.length + each);
    text += shown;
    at += character.length;
  }
  return { text: `${text}"`, marks: places };
}

/** True if a value is shown folded. @param {unknown} value */
export function isLong(value) {
  return (typeof value === "string" ? value.length + 2 : write(value, 0).length) > LONG;
}

/** A time: relative, with the absolute one in the title. @param {{at: string | null | undefined, none?: string}} props */
export function Time({ at, none = "never" }) {
  if (!at) return html`<span class="muted">${none}</span>`;
  return html`<time datetime=${at} title=${absolute(at)}>${relative(at, now.value)}</time>`;
}

/** A time of day, exact to the millisecond. @param {{at: string}} props */
export function Clock({ at }) {
  return html`<time class="mono clock" datetime=${at} title=${absolute(at)}>${clock(at, now.peek())}</time>`;
}

/** A result or a state as a word and a colour. @param {{is: string | null | undefined, word?: string}} props */
export function Pill({ is, word }) {
  return html`<span class=${`pill ${is ?? "none"}`}>${word ?? (is ?? "none").replaceAll("_", " ")}</span>`;
}

/** @type {Record<string, string>} */
export const CONSEQUENCES = {
  none: "only reads",
  discloses: "reads, and tells strangers what it asks",
  reversible: "can be undone",
  irreversible: "cannot be undone",
};

/** What calls of a tool do to the world, if a person has said so. @param {{of: string | null}} props */
export const ConsequenceTag = ({ of }) =>
  of && html`<span class=${`tag ${of === "irreversible" ? "warn" : ""}`}>${CONSEQUENCES[of]}</span>`;

/** A quiet label. @param {{children: any, title?: string}} props */
export const Tag = ({ children, title }) => html`<span class="tag" title=${title}>${children}</span>`;
