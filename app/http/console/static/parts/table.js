// A table whose rows are drawn only while they can be seen: a grid for the keyboard and for screen readers. A column that says by
// what its rows are compared has a button that sorts them; the address has the order.
import { useKeys } from "../keys.js";
import { param, setParams } from "../url.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact.js";

/** @template Row @typedef {{name: string, width: string, cell: (row: Row) => any, class?: string, by?: (row: Row) => string | number}} Column */
const SPARE = 8;
const ROW = 40;

/** @template Row @param {{label: string, columns: Column<Row>[], rows: Row[], id: (row: Row) => string, open?: (row: Row) => void,
 *   selected?: string, end?: () => void, moved?: (top: number) => void, loading?: boolean, empty?: any, tall?: boolean, phone?: number}} props */
export function Table({
  label,
  columns,
  rows: given,
  id,
  open,
  selected,
  end,
  moved,
  loading,
  empty,
  tall = false,
  phone = 64,
}) {
  const order = orderOf(columns);
  const rows = useMemo(() => (order ? sorted(given, order) : given), [given, order?.down, order?.by]);
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [view, setView] = useState({ top: 0, height: 800, row: ROW });
  const [at, setAt] = useState(0);
  useLayoutEffect(() => {
    const node = /** @type {HTMLDivElement} */ (box.current);
    const measure = () =>
      setView({ top: node.scrollTop, height: node.clientHeight, row: node.clientWidth < 640 ? phone : ROW });
    const watch = new ResizeObserver(measure);
    watch.observe(node);
    return () => watch.disconnect();
  }, []);
  const scrolled = () => {
    const node = /** @type {HTMLDivElement} */ (box.current);
    setView((before) => ({ ...before, top: node.scrollTop }));
    moved?.(node.scrollTop);
    if (node.scrollTop + node.clientHeight > node.scrollHeight - 600) end?.();
  };
  useEffect(() => {
    if (box.current && rows.length && box.current.scrollHeight <= box.current.clientHeight + 4) end?.();
  }, [rows.length]);
  const move = (/** @type {number} */ to) => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    const node = /** @type {HTMLDivElement} */ (box.current);
    const top = next * view.row;
    if (top < node.scrollTop) node.scrollTop = top;
    else if (top + view.row > node.scrollTop + node.clientHeight - 36)
      node.scrollTop = top + view.row - node.clientHeight + 36;
    setAt(next);
    const row = () => /** @type {HTMLElement | null} */ (node.querySelector(`[aria-rowindex="${next + 2}"]`));
    // At once, because the next key may come before the next frame; a row out of sight is drawn only then.
    if (row()) row()?.focus();
    else requestAnimationFrame(() => row()?.focus());
  };
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    // The row that has the focus, which entries above it may have moved since.
    const row =
      event.target instanceof Element && event.target.matches("[role=row]")
        ? Number(event.target.getAttribute("aria-rowindex")) - 2
        : undefined;
    const from = row ?? at;
    const page = Math.floor(view.height / view.row) - 2;
    /** @type {Record<string, number>} */
    const steps = {
      ArrowDown: from + 1,
      ArrowUp: from - 1,
      PageDown: from + page,
      PageUp: from - page,
      Home: 0,
      End: rows.length - 1,
    };
    if (event.key in steps && rows.length) {
      event.preventDefault();
      move(steps[event.key]);
    } else if (event.key === "Enter" && row !== undefined && rows[row]) open?.(rows[row]);
  };
  const step = (/** @type {number} */ by) => {
    const focused = document.activeElement;
    const index = focused?.matches("[role=row]") ? Number(focused.getAttribute("aria-rowindex")) - 2 : at;
    move(box.current?.contains(focused) ? index + by : at);
  };
  useKeys(document.querySelector("dialog[open]") ? {} : { j: () => step(1), k: () => step(-1) });
  const first = Math.max(0, Math.floor(view.top / view.row) - SPARE);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / view.row) + SPARE);
  const grid = columns.map((column) => column.width).join(" ");
  return html`<div class=${`table${tall ? " tall" : ""}${open ? " opens" : ""}`} role="grid" aria-label=${label} style=${tall && rows.length ? { minHeight: `${Math.min(240, (view.row === ROW ? 38 : 2) + rows.length * view.row)}px` } : undefined} aria-rowcount=${rows.length + 1} aria-colcount=${columns.length}
      ref=${box} onScroll=${scrolled} onKeyDown=${pressed} aria-busy=${loading} tabindex=${rows.length ? undefined : 0}>
    <div class="thead" role="row" aria-rowindex="1" style=${{ gridTemplateColumns: grid }}>
      ${columns.map((column) => html`<span role="columnheader" class=${column.class} aria-sort=${column.name === order?.name ? (order.down ? "descending" : "ascending") : undefined}>${column.by ? html`<button type="button" onClick=${() => sortBy(column.name)}>${column.name}</button>` : column.name}</span>`)}</div>
    <div class="tbody" role="rowgroup" style=${{ height: `${rows.length * view.row}px` }}>
      ${rows.slice(first, last).map((row, offset) => {
        const index = first + offset;
        const key = id(row);
        return html`<div role="row" key=${key} aria-rowindex=${index + 2} aria-selected=${key === selected} tabindex=${index === at ? 0 : -1} class="row"
        style=${{ gridTemplateColumns: grid, height: `${view.row}px`, transform: `translateY(${index * view.row}px)` }}
        onFocus=${() => setAt(index)} onClick=${(/** @type {MouseEvent} */ event) => {
          if (!(event.target instanceof Element && event.target.closest("a, button, input"))) open?.(row);
        }}>
        ${columns.map((column) => html`<span role="gridcell" class=${column.class}>${column.cell(row)}</span>`)}</div>`;
      })}</div>
    ${!rows.length && (loading ? html`<div class="waiting-rows">${Array.from({ length: 8 }, () => html`<div></div>`)}</div>` : empty)}
  </div>`;
}

/** The column that the address sorts by, and whether it does so downwards. @template {{name: string, by?: any}} C @param {C[]} columns */
function orderOf(columns) {
  const order = param("sort");
  const found = columns.find((each) => each.by && each.name === order.replace(/^-/, ""));
  return found && { name: found.name, by: found.by, down: order[0] === "-" };
}

/** Sort by this column: up, then down, then as it was. @param {string} name */
function sortBy(name) {
  const order = param("sort");
  setParams({ sort: order === name ? `-${name}` : order === `-${name}` ? null : name });
}

/** For a list whose rows have no columns: the rows in the order of the address, and the buttons that choose it.
 * @template Row @param {Row[]} rows @param {{name: string, by: (row: Row) => string | number}[]} columns @returns {[Row[], any]} */
export function ordered(rows, columns) {
  const order = orderOf(columns);
  return [
    order ? sorted(rows, order) : rows,
    html`<span class="sorts" role="group" aria-label="Sort by"><span class="small muted" aria-hidden="true">Sort by</span>${columns.map(
      ({ name }) => {
        const down = name === order?.name ? order.down : null;
        return html`<button type="button" class="link" aria-pressed=${down !== null} onClick=${() => sortBy(name)}>${name}${down !== null && html`<span class="sr">, ${down ? "descending" : "ascending"}</span><span aria-hidden="true"> ${down ? "↓" : "↑"}</span>`}</button>`;
      },
    )}</span>`,
  ];
}

/** @template Row @param {Row[]} rows @param {{by: (row: Row) => string | number, down: boolean}} order */
function sorted(rows, { by, down }) {
  const way = down ? -1 : 1;
  const compare = (/** @type {any} */ a, /** @type {any} */ b) =>
    typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
  return rows
    .map((row) => ({ row, at: by(row) }))
    .sort((a, b) => way * compare(a.at, b.at))
    .map(({ row }) => row);
}
