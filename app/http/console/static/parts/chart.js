// Bars over time, stacked; the numbers are a table for screen readers.
import { written } from "../time.js";
import { html, useState } from "../vendor/preact.js";

/** @typedef {{name: string, values: number[]}} Series */
const [LEFT, FOOT] = [44, 24];

/** Round up to 1, 2 or 5 times a power of ten. @param {number} most */
function roundUp(most) {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 4)));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= most) ?? most;
}

/** times: the start of each bar, in milliseconds. ticks: what happened in between, at a time; tick: what that is. pick: told of the
 * bar that is pressed, or of the first and the last of those that are drawn over. size: in px, of a chart beside whose list its
 * numbers would be a second one. label: of the table that is its numbers; none if it has a size.
 * @param {{times: number[], step: number, series: Series[], ticks?: {at: number, name: string}[], pick: (first: number, last: number) => void,
 *   label?: string, size?: [number, number], tick?: string}} props */
export function Chart({ times, step, series, ticks = [], pick, label, size, tick: meant = "a policy changed" }) {
  const [brush, setBrush] = useState(/** @type {[number, number] | null} */ (null));
  // Drawn for the width that there is, so that its words are not scaled down on a phone.
  const [WIDTH, HEIGHT] = size ?? [innerWidth > 640 ? 960 : 380, 220];
  const names = WIDTH > 640 ? 8 : 4;
  const sums = times.map((_, index) => series.reduce((sum, each) => sum + each.values[index], 0));
  const most = roundUp(Math.max(...sums, 1));
  const x = (/** @type {number} */ at) => LEFT + ((at - times[0]) / (step * times.length)) * (WIDTH - LEFT);
  const y = (/** @type {number} */ value) => HEIGHT - FOOT - (value / most) * (HEIGHT - FOOT - 14);
  const width = (WIDTH - LEFT) / times.length;
  const every = Math.ceil(times.length / names);
  const under = (/** @type {any} */ { currentTarget, clientX }) => {
    const box = currentTarget.getBoundingClientRect();
    const index = Math.floor((((clientX - box.left) / box.width) * WIDTH - LEFT) / width);
    return Math.max(0, Math.min(times.length - 1, index));
  };
  const sides = brush && (brush[0] < brush[1] ? brush : [brush[1], brush[0]]);
  return html`<figure class="chart"><svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} style=${size && { height: `${HEIGHT}px` }} aria-hidden="true"
      onPointerDown=${(/** @type {any} */ event) => {
        if (event.button) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setBrush([under(event), under(event)]);
      }}
      onPointerMove=${(/** @type {any} */ event) => brush && setBrush([brush[0], under(event)])}
      onPointerCancel=${() => setBrush(null)}
      onPointerUp=${() => {
        setBrush(null);
        if (sides) pick(sides[0], sides[1]);
      }}>
    ${sides && html`<rect class="brush" x=${x(times[sides[0]])} y="0" width=${(sides[1] - sides[0] + 1) * width} height=${HEIGHT - FOOT} />`}
    ${[0, 0.5, 1].filter((part) => Number.isInteger(most * part)).map((part) => html`<line class="rule" x1=${LEFT} x2=${WIDTH} y1=${y(most * part)} y2=${y(most * part)} /><text x=${LEFT - 8} y=${y(most * part) + 4} text-anchor="end">${short(most * part)}</text>`)}
    ${times.map((time, index) => {
      let under = 0;
      const words = `${written(time).slice(0, 16).replace("T", " ")}: ${series.map((each) => `${each.values[index]} ${each.name}`).join(", ")}`;
      return html`<g class="bar-group picks"><title>${words}</title>
      <rect class="hit" x=${x(time)} y="0" width=${width} height=${HEIGHT - FOOT} />
      ${series.map((each) => {
        const value = each.values[index];
        if (!value) return null;
        under += value;
        return html`<rect class=${`fill ${each.name}`} x=${x(time) + width * 0.14} y=${y(under)} width=${width * 0.72} height=${Math.max(1, y(0) - y(value))} rx="2" />`;
      })}
      ${index % every === 0 && html`<text x=${x(time) + width / 2} y=${HEIGHT - 6} text-anchor="middle">${named(time, step, step * times.length)}</text>`}</g>`;
    })}
    ${ticks.map((tick) => html`<g class="tick"><title>${tick.name}</title><line x1=${x(tick.at)} x2=${x(tick.at)} y1="4" y2=${HEIGHT - FOOT} /><circle cx=${x(tick.at)} cy="5" r="4" /></g>`)}</svg>
    ${ticks.length > 0 && html`<p class="legend" aria-hidden="true"><i class="tick"></i>${meant}</p>`}
    ${
      !size &&
      html`<div class="sr"><table><caption>${label}</caption><thead><tr><th>From</th>${series.map((each) => html`<th>${each.name}</th>`)}</tr></thead>
      <tbody>${times.map((time, index) => html`<tr><th>${new Date(time).toISOString()}</th>${series.map((each) => html`<td>${each.values[index]}</td>`)}</tr>`)}</tbody></table></div>`
    }</figure>`;
}

/** @param {number} value */
const short = (value) =>
  value >= 1e6 ? `${value / 1e6}M` : value >= 1e4 ? `${value / 1e3}k` : String(Math.round(value));

/** @param {number} at @param {number} step @param {number} whole */
function named(at, step, whole) {
  const text = written(at);
  return whole > 172_800_000 ? text.slice(5, 10) : step < 60_000 ? text.slice(11, 19) : text.slice(11, 16);
}
