// Times: relative in the text, absolute in UTC and in local time in the title.
import { signal } from "./vendor/preact.js";

export const now = signal(Date.now());
let skew = 0;

/** Note what time the service has, so that countdowns do not depend on this machine's clock. @param {string | null} date */
export function noteTime(date) {
  const told = date ? Date.parse(date) : NaN;
  const off = told - Date.now();
  if (!Number.isNaN(off)) skew = Math.abs(off) > 2000 ? off : 0;
}

setInterval(() => {
  if (!document.hidden) now.value = Date.now() + skew;
}, 1000);
document.addEventListener("visibilitychange", () => {
  now.value = Date.now() + skew;
});

/** @type {[number, string][]} */
const UNITS = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
];

/** "3 min", "2 h", "5 d": the largest unit, rounded down. @param {number} seconds */
export function span(seconds) {
  const most = UNITS.find(([size]) => seconds >= size);
  return most ? `${Math.floor(seconds / most[0])} ${most[1]}` : "0 s";
}

/** "14:38" or "2:03:00" for a countdown. @param {number} seconds */
export function countdown(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (/** @type {number} */ each) => String(each).padStart(2, "0");
  return h ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** A length of time in words: "15 min", "1 h 30 min", "2 d". @param {number} seconds */
export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const found = [];
  let left = Math.round(seconds);
  for (const [size, name] of UNITS) {
    if (left >= size) {
      found.push(`${Math.floor(left / size)} ${name}`);
      left %= size;
    }
  }
  return found.slice(0, 2).join(" ");
}

/** "just now", "5 min ago", "in 3 h". @param {string} at @param {number} from */
export function relative(at, from) {
  const seconds = (from - Date.parse(at)) / 1000;
  if (Math.abs(seconds) < 5) return "just now";
  return seconds > 0 ? `${span(seconds)} ago` : `in ${span(-seconds)}`;
}

/** "2026-11-23 12:55:47 UTC · 13:55:47 here" @param {string} at */
export function absolute(at) {
  const date = new Date(at);
  return `${at.replace("T", " ").replace("Z", "")} UTC · ${date.toLocaleString()} here`;
}

/** Whether times of lists and charts are of this machine's zone instead of UTC. */
export const isLocal = signal(localStorage.getItem("remit.times") === "local");

/** Show times in UTC or in this machine's zone, from now on. @param {boolean} local */
export function setLocal(local) {
  isLocal.value = local;
  localStorage.setItem("remit.times", local ? "local" : "utc");
}

/** "2026-11-23T12:55:47.123" in the zone that is shown. @param {number} at */
export function written(at) {
  const off = isLocal.value ? new Date(at).getTimezoneOffset() * 60_000 : 0;
  return new Date(at - off).toISOString().slice(0, -1);
}

/** The time of day, with the date if it is another day. @param {string} at @param {number} from */
export function clock(at, from) {
  const [then, today] = [written(Date.parse(at)), written(from)];
  return today.slice(0, 10) === then.slice(0, 10) ? then.slice(11) : `${then.slice(5, 10)} ${then.slice(11, 19)}`;
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** "27 Nov 07:33" @param {string | number} at */
export function moment(at) {
  const then = written(typeof at === "number" ? at : Date.parse(at));
  return `${Number(then.slice(8, 10))} ${MONTHS[Number(then.slice(5, 7)) - 1]} ${then.slice(11, 16)}`;
}
