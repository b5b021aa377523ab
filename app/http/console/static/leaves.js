// The values inside an object or list, one by one.
import { Exact } from "./exact.js";

/** A number that the service gives as an object, because JSON readers would round it, with its digits.
 * @param {unknown} value @returns {unknown} */
function asNumber(value) {
  if (value === null || typeof value !== "object" || !("number" in value) || Object.keys(value).length !== 1)
    return value;
  const digits = value.number;
  return typeof digits === "string" &&
    /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(digits) &&
    String(Number(digits)) !== digits
    ? new Exact(digits)
    : value;
}

/** One row for each value inside an object or list, in the order in which they were sent; what the log shortened is one.
 * @param {unknown} given @param {string} [path] @returns {{path: string, value: unknown}[]} */
export function leaves(given, path = "") {
  const value = asNumber(given);
  if (
    value === null ||
    typeof value !== "object" ||
    value instanceof Exact ||
    ("beginning" in value && "length" in value)
  )
    return [{ path, value }];
  const inner = Array.isArray(value)
    ? value.map((each, index) => /** @type {[string, unknown]} */ ([`${path}[${index}]`, each]))
    : Object.entries(value).map(([name, each]) => /** @type {[string, unknown]} */ ([member(path, name), each]));
  return inner.length ? inner.flatMap(([name, each]) => leaves(each, name)) : [{ path, value }];
}

/** @param {string} path @param {string} name */
function member(path, name) {
  const shown = /^[\p{L}\p{N}_$-]+$/u.test(name) ? name : `[${JSON.stringify(name)}]`;
  return path && !shown.startsWith("[") ? `${path}.${shown}` : path + shown;
}
