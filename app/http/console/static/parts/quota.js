// How full a limit is: a meter, words, and when it has room again.
import { countdown, duration } from "../time.js";
import { html } from "../vendor/preact.js";

/** @param {{level: QuotaLevel, of?: string}} props */
export function Quota({ level, of = "" }) {
  const most = Number(level.most);
  const part = most ? Math.min(1, Number(level.taken) / most) : 1;
  const number = (/** @type {number} */ value) => Number(value).toLocaleString("en", { maximumFractionDigits: 6 });
  const words = `${number(level.taken)} of ${number(level.most)}${of && ` ${of}`} ${level.windowSeconds === null ? "in all" : `in ${duration(Number(level.windowSeconds))}`}`;
  return html`<span class="quota">
    <span class=${`meter ${part >= 1 ? "full" : part > 0.8 ? "near" : ""}`} role="meter" aria-label=${words} aria-valuemin="0" aria-valuemax=${most} aria-valuenow=${Number(level.taken)}>
      <span style=${{ width: `${part * 100}%` }}></span></span>
    <span class="small muted">${words}${level.freesInSeconds !== null && part >= 1 ? `, frees in ${countdown(Number(level.freesInSeconds))}` : ""}</span></span>`;
}
