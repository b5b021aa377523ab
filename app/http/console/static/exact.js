// Values as they were sent: numbers with all their digits, and hidden characters as codes.

/** A number that a double cannot carry, or that was written another way. It counts as a number, and is drawn as text. */
export class Exact {
  /** @param {string} source */
  constructor(source) {
    this.source = source;
  }
  valueOf() {
    return Number(this.source);
  }
  toString() {
    return this.source;
  }
}
Exact.prototype.constructor = String;

/** @param {string} _ @param {unknown} value @param {{source?: string}} [context] */
function kept(_, value, context) {
  const source = context?.source;
  return typeof value === "number" && source !== undefined && String(value) !== source ? new Exact(source) : value;
}

// Browsers before 2025 do not say how a number was written.
const tellsSources =
  JSON.parse("1.0", (_, value, /** @type {any} */ ...told) => told[0]?.source === "1.0" && value) === 1;
const parseMarked = tellsSources ? null : (await import("./exact_marked.js")).parserOf(Exact);

/** Parse JSON; numbers whose digits would change become `Exact`. @param {string} text @returns {any} */
export const parse = (text) => (parseMarked ? parseMarked(text) : JSON.parse(text, kept));

/** Write JSON; an `Exact` is written as it was. @param {unknown} value @param {number} [indent] @returns {string} */
export function write(value, indent = 2) {
  return written(value, indent ? " ".repeat(indent) : "", "");
}

/** @param {unknown} value @param {string} step @param {string} margin @returns {string} */
function written(value, step, margin) {
  if (value instanceof Exact) return value.source;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const inner = margin + step;
  const list = Array.isArray(value);
  const items = list
    ? value.map((each) => written(each, step, inner))
    : Object.entries(value)
        .filter(([, each]) => each !== undefined)
        .map(([name, each]) => `${JSON.stringify(name)}:${step && " "}${written(each, step, inner)}`);
  const [open, close] = list ? "[]" : "{}";
  if (!items.length) return open + close;
  return step ? `${open}\n${inner}${items.join(`,\n${inner}`)}\n${margin}${close}` : open + items.join(",") + close;
}

// As in app/language/visible.py: control, format, private and unassigned characters, and letters that show nothing.
const HIDDEN = new RegExp(
  "[\\p{C}\\p{Zl}\\p{Zp}\\u034F\\u115F\\u1160\\u17B4\\u17B5\\u180B-\\u180F\\u2800\\u2D7F\\u3164\\uFE00-\\uFE0F\\uFFA0" +
    "\\u{1107F}\\u{13441}-\\u{13446}\\u{16FE4}\\u{1D159}\\u{E0100}-\\u{E01EF}]|(?! )\\p{Zs}",
  "u",
);

// As in app/language/confusables.py: letters that stand for one another; Chinese, Japanese and Korean ones mix with Latin.
const ALPHABETS = [
  /[\uFF21-\uFF3A\uFF41-\uFF5A]/u,
  /[\u{1D400}-\u{1D7FF}]/u,
  .../** @type {string[]} */ (
    "Latin Greek Cyrillic Coptic Armenian Georgian Cherokee Hebrew Arabic Lisu".split(" ")
  ).map((name) => new RegExp(`\\p{Script=${name}}`, "u")),
];
const LATIN = 2;

/** The places, in code units, of letters that are of another alphabet than most of their word. @param {string} text */
function foreign(text) {
  /** @type {Set<number>} */
  const found = new Set();
  for (const { 0: word, index } of text.matchAll(/\p{L}+/gu)) {
    let place = index;
    const letters = [...word].map((letter) => {
      const at = place;
      place += letter.length;
      return { at, alphabet: ALPHABETS.findIndex((each) => each.test(letter)) };
    });
    const counts = ALPHABETS.map((_, each) => letters.filter(({ alphabet }) => alphabet === each).length);
    const main = counts.reduce(
      (best, count, each) =>
        count > counts[best] || (count === counts[best] && count > 0 && each === LATIN) ? each : best,
      0,
    );
    for (const { at, alphabet } of letters) if (alphabet >= 0 && alphabet !== main) found.add(at);
  }
  return found;
}

/** @typedef {{text: string, hidden: boolean, code?: string, marked?: boolean}} Piece code: of a letter of another script than its word. */

/** The text in pieces: those that are seen as they are, codes of hidden characters, letters of another script than their
 * word, and what is marked, by code units. Lines may break if they are many.
 * @param {string} text @param {{lines?: boolean, marks?: Set<number>}} [how] @returns {Piece[]} */
export function pieces(text, { lines = false, marks } = {}) {
  const plain = /^[ -~]*$/.test(text);
  if (!marks?.size && (plain || (!HIDDEN.test(text) && !foreign(text).size))) return [{ text, hidden: false }];
  const strange = plain ? new Set() : foreign(text);
  /** @type {Piece[]} */
  const found = [];
  let at = 0;
  for (const character of text) {
    const code = `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`;
    const marked = marks?.has(at) || undefined;
    const last = found.at(-1);
    if (HIDDEN.test(character) && !(lines && (character === "\n" || character === "\t")))
      found.push({ text: code, hidden: true });
    else if (strange.has(at)) found.push({ text: character, hidden: false, code, marked });
    else if (last && !last.hidden && !last.code && last.marked === marked) last.text += character;
    else found.push({ text: character, hidden: false, marked });
    at += character.length;
  }
  return found;
}
