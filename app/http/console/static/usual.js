// What is unusual about a call, compared with what the agent was allowed to do with the tool before.
import { leaves, write } from "./exact.js";

/** What each path usually has. @typedef {{count: number, of: number, least?: number, median?: number, most?: number, top: {text: string, count: number}[]}} Usual */

/** A path without the places in lists, so that all elements are one. @param {string} path */
export const general = (path) => path.replace(/\[\d+\]/g, "[*]");

/** @param {unknown[]} calls the parameters of earlier calls @returns {Map<string, Usual>} */
export function usualOf(calls) {
  /** @type {Map<string, {calls: Set<number>, values: unknown[]}>} */
  const seen = new Map();
  calls.forEach((call, index) => {
    for (const { path, value } of leaves(call)) {
      const at = seen.get(general(path)) ?? { calls: new Set(), values: [] };
      at.calls.add(index);
      at.values.push(value);
      seen.set(general(path), at);
    }
  });
  return new Map([...seen].map(([path, { calls: had, values }]) => {
    const counts = new Map();
    for (const value of values) counts.set(write(value, 0), (counts.get(write(value, 0)) ?? 0) + 1);
    const top = [...counts].map(([text, count]) => ({ text, count })).sort((a, b) => b.count - a.count).slice(0, 5);
    const numbers = values.filter((value) => isNumber(value)).map(Number).sort((a, b) => a - b);
    const range = numbers.length ? { least: numbers[0], median: numbers[Math.floor(numbers.length / 2)], most: numbers[numbers.length - 1] } : {};
    return [path, { count: had.size, of: calls.length, top, distinct: counts.size, ...range }];
  }));
}

/** @param {unknown} value */
const isNumber = (value) => typeof value === "number" || (value instanceof Object && !Array.isArray(value) && "source" in value);

/** What is unusual about a value, in a few words; "" if nothing is. @param {string} path @param {unknown} value @param {Map<string, Usual>} usual @param {number} of how many calls it is compared with */
export function unusual(path, value, usual, of) {
  if (!of) return "";
  const known = usual.get(general(path));
  if (!known) return "never given before";
  if (isNumber(value) && known.median !== undefined && known.most !== undefined && known.least !== undefined) {
    const number = Number(value);
    if (number > known.most) return `${known.median > 0 ? `${times(number / known.median)} × the usual ${known.median}; ` : ""}the most so far was ${known.most}`;
    if (number < known.least) return `the least so far was ${known.least}`;
    return "";
  }
  const text = write(value, 0);
  if (known.top.some((each) => each.text === text)) return "";
  // A path whose values all differ, such as an order's number, has no usual value.
  const most = known.top[0];
  return most && most.count > 1 && most.count * 3 >= known.count ? `new; usual: ${most.text.length > 60 ? `${most.text.slice(0, 60)}…` : most.text}` : "";
}

/** @param {number} factor */
const times = (factor) => (factor >= 10 ? Math.round(factor).toLocaleString("en") : factor.toFixed(1));
