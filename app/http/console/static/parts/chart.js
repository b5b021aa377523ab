// Bars over time, stacked; the numbers are a table for screen readers.
import { html } from "../vendor/preact.js";

/** @typedef {{name: string, values: number[]}} Series */
const [HEIGHT, LEFT, FOOT] = [220, 44, 24];

/** Round up to 1, 2 or 5 times a power of ten. @param {number} most */
function roundUp(most) {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 4)));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= most) ?? most;
}

/** times: the start of each bar, in milliseconds. ticks: what happened in between, at a time.
 * @param {{times: number[], step: number, series: Series[], ticks?: {at: number, name: string}[], pick?: (index: number) => void, label: string}} props */
export function Chart({ times, step, series, ticks = [], pick, label }) {
  // Drawn for the width that there is, so that its words are not scaled down on a phone.
  const [WIDTH, names] = innerWidth > 640 ? [960, 8] : [380, 4];
  const sums = times.map((_, index) => series.reduce((sum, each) => sum + each.values[index], 0));
  const most = roundUp(Math.max(...sums, 1));
  const x = (/** @type {number} */ at) => LEFT + ((at - times[0]) / (step * times.length)) * (WIDTH - LEFT);
  const y = (/** @type {number} */ value) => HEIGHT - FOOT - (value / most) * (HEIGHT - FOOT - 14);
  const width = (WIDTH - LEFT) / times.length;
  const every = Math.ceil(times.length / names);
  return html`<figure class="chart"><svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
    ${[0, 0.5, 1].map((part) => html`<line class="rule" x1=${LEFT} x2=${WIDTH} y1=${y(most * part)} y2=${y(most * part)} /><text x=${LEFT - 8} y=${y(most * part) + 4} text-anchor="end">${short(most * part)}</text>`)}
    ${times.map((time, index) => {
      let under = 0;
      const words = `${named(time, step)}: ${series.map((each) => `${each.values[index]} ${each.name}`).join(", ")}`;
      return html`<g class=${pick ? "bar-group picks" : "bar-group"} onClick=${() => pick?.(index)}><title>${words}</title>
      <rect class="hit" x=${x(time)} y="0" width=${width} height=${HEIGHT - FOOT} />
      ${series.map((each) => {
        const value = each.values[index];
        if (!value) return null;
        under += value;
        return html`<rect class=${`fill ${each.name}`} x=${x(time) + width * 0.14} y=${y(under)} width=${width * 0.72} height=${Math.max(1, y(0) - y(value))} rx="2" />`;
      })}
      ${index % every === 0 && html`<text x=${x(time) + width / 2} y=${HEIGHT - 6} text-anchor="middle">${named(time, step)}</text>`}</g>`;
    })}
    ${ticks.map((tick) => html`<g class="tick"><title>${tick.name}</title><line x1=${x(tick.at)} x2=${x(tick.at)} y1="4" y2=${HEIGHT - FOOT} /><circle cx=${x(tick.at)} cy="5" r="4" /></g>`)}</svg>
    ${ticks.length > 0 && html`<p class="legend" aria-hidden="true"><i class="tick"></i>a policy changed</p>`}
    <div class="sr"><table><caption>${label}</caption><thead><tr><th>From</th>${series.map((each) => html`<th>${each.name}</th>`)}</tr></thead>
      <tbody>${times.map((time, index) => html`<tr><th>${new Date(time).toISOString()}</th>${series.map((each) => html`<td>${each.values[index]}</td>`)}</tr>`)}</tbody></table></div></figure>`;
}

/** @param {number} value */
const short = (value) =>
  value >= 1e6 ? `${value / 1e6}M` : value >= 1e4 ? `${value / 1e3}k` : String(Math.round(value));

/** @param {number} at @param {number} step */
function named(at, step) {
  const text = new Date(at).toISOString();
  return step < 86_400_000 ? text.slice(11, 16) : text.slice(5, 10);
}
