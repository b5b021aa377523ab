// Text of agents and callers: always a text node, with codes for what cannot be seen.
import { absolute, clock, now, relative } from "../time.js";
import { pieces, write } from "../exact.js";
import { html, useState } from "../vendor/preact.js";

/** Text with codes for hidden characters. @param {{value: string | null | undefined, lines?: boolean}} props */
export function Text({ value, lines = false }) {
  const found = pieces(value ?? "", { lines });
  if (found.length === 1 && !found[0].hidden) return html`<bdi>${found[0].text}</bdi>`;
  return html`<bdi>${found.map((each) => (each.hidden ? html`<span class="unseen" title="A character that cannot be seen">${each.text}</span>` : each.text))}</bdi>`;
}

const LONG = 240;

/** A JSON value exactly as it was sent; a long one is folded, with its length.
 * @param {{value: unknown, open?: boolean, onOpen?: () => void}} props */
export function Value({ value, open = false, onOpen }) {
  const [opened, setOpened] = useState(open);
  const text = typeof value === "string" ? quoted(value) : write(value, 0);
  const folded = isLong(value) && !opened;
  return html`<code class="value"><${Text} value=${folded ? text.slice(0, LONG) : text} lines />${
    folded &&
    html`… <button type="button" class="link"
    onClick=${() => {
      setOpened(true);
      onOpen?.();
    }}>Show all ${text.length.toLocaleString("en")} characters</button>`
  }</code>`;
}

/** A string as JSON, except that its lines are lines. @param {string} text */
const quoted = (text) =>
  `"${text
    .split("\n")
    .map((line) => JSON.stringify(line).slice(1, -1))
    .join("\n")}"`;

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

/** A quiet label. @param {{children: any, title?: string}} props */
export const Tag = ({ children, title }) => html`<span class="tag" title=${title}>${children}</span>`;
