// Times of a rule: hours as from–to, days, and time zones from a list.
import { html } from "../vendor/preact.js";

/** Hours that follow each other as pairs of the first and the one after the last: `[9, 10, 11]` is `[[9, 12]]`.
 * @param {number[]} given @returns {[number, number][]} */
export function runs(given) {
  /** @type {[number, number][]} */
  const found = [];
  for (const hour of [...new Set(given)].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last && last[1] === hour) last[1] = hour + 1;
    else found.push([hour, hour + 1]);
  }
  return found;
}

const HOURS = Array.from({ length: 25 }, (_, hour) => hour);
const clock = (/** @type {number} */ hour) => `${String(hour).padStart(2, "0")}:00`;
/** The hours from one to before another; over midnight, if that is not later. @param {number} from @param {number} to */
const between = (from, to) =>
  HOURS.slice(0, 24).filter((hour) => (from < to ? from <= hour && hour < to : hour >= from || hour < to));

/** @param {{value: any[] | undefined, set: (value: number[]) => void, children?: any}} props */
export function Hours({ value, set, children }) {
  const spans = runs((value ?? []).map(Number));
  const put = (/** @type {number} */ at, /** @type {[number, number][]} */ ...next) =>
    set([...new Set(spans.toSpliced(at, 1, ...next).flatMap(([from, to]) => between(from, to)))].sort((a, b) => a - b));
  const choice = (
    /** @type {string} */ label,
    /** @type {number[]} */ hours,
    /** @type {number} */ now,
    /** @type {(hour: number) => void} */ pick,
  ) =>
    html`<select aria-label=${label} value=${now} onChange=${(/** @type {any} */ event) => pick(Number(event.target.value))}>${hours.map((hour) => html`<option value=${hour}>${clock(hour)}</option>`)}</select>`;
  return html`<div class="choices hours" role="group" aria-label="Hours, local time"><span>Hours, local time</span>${spans.map(
    (
      [from, to],
      at,
    ) => html`<span class="line" key=${at}>${choice("From", HOURS.slice(0, 24), from, (hour) => put(at, [hour, to]))}–${choice("To", HOURS.slice(1), to, (hour) => put(at, [from, hour]))}
      <button type="button" class="quiet square small" aria-label=${`Remove ${clock(from)} to ${clock(to)}`} onClick=${() => put(at)}>×</button></span>`,
  )}<button type="button" onClick=${() => put(spans.length, [9, 17])}>Add hours</button>${children}</div>`;
}

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** @param {{value: any[] | undefined, set: (value: number[]) => void, children?: any}} props */
export function Days({ value, set, children }) {
  const has = (value ?? []).map((day) => Number(day) % 7);
  return html`<div class="choices" role="group" aria-label="Days"><span>Days</span>${DAYS.map((words, index) => {
    const day = (index + 1) % 7;
    return html`<button type="button" aria-pressed=${has.includes(day)} onClick=${() => set(has.includes(day) ? has.filter((other) => other !== day) : [...has, day].sort((a, b) => a - b))}>${words}</button>`;
  })}${children}</div>`;
}

/** The zone of whoever writes. */
export const here = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** All zones that the browser knows, and the one that is written. @param {{label: string, title?: string, value: any, set: (value: string) => void, children?: any}} props */
export function Zone({ label, title, value, set, children }) {
  const zones = [...new Set([String(value ?? ""), here(), "UTC", ...Intl.supportedValuesOf("timeZone")])].filter(
    Boolean,
  );
  return html`<label title=${title}>${label}<select value=${value} onChange=${(/** @type {any} */ event) => set(event.target.value)}>${zones.map((each) => html`<option>${each}</option>`)}</select>${children}</label>`;
}
