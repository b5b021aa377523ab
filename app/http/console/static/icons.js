// Icons of 16 units, drawn with one stroke.
import { html } from "./vendor/preact.js";

/** @type {Record<string, string>} */
const PATHS = {
  overview: "M2.5 2.5h4.5v5h-4.5zM9 2.5h4.5v3h-4.5zM9 7.5h4.5v6h-4.5zM2.5 9.5h4.5v4h-4.5z",
  decisions: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01",
  approvals: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM5.5 8.2l1.8 1.8 3.4-3.8",
  agents: "M3 6.5h10v7H3zM8 6.5v-3M8 3.5h.01M6 9.5v1M10 9.5v1M1.5 9v2M14.5 9v2",
  policies: "M8 1.8l5 1.9v4c0 3.2-2.1 5.4-5 6.5-2.9-1.1-5-3.3-5-6.5v-4zM6 8l1.5 1.5L10.2 6.6",
  "what-if": "M6.2 2h3.6M7 2v4L3 12.8c-.3.6 0 1.2.7 1.2h8.6c.7 0 1-.6.7-1.2L9 6V2M5 10h6",
  catalog: "M8 1.8l5.5 3v6.4L8 14.2l-5.5-3V4.8zM2.5 4.8L8 7.9l5.5-3.1M8 7.9v6.3",
  keys: "M5.2 13.2a2.9 2.9 0 1 0 0-5.8 2.9 2.9 0 0 0 0 5.8zM7.3 8.2l6-6M11 4.5l2 2M9 6.5l1.2 1.2",
  webhooks: "M6 2v3M10 2v3M4 5h8v2.5a4 4 0 0 1-8 0zM8 11.5V14",
  people:
    "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M10.5 2.7a2.5 2.5 0 0 1 0 4.6M12 9.8c1.5.5 2.5 1.8 2.5 3.7",
  log: "M6.8 9.2a2.6 2.6 0 0 0 3.9.3l2-2a2.6 2.6 0 0 0-3.7-3.7l-1 1M9.2 6.8a2.6 2.6 0 0 0-3.9-.3l-2 2A2.6 2.6 0 0 0 7 12.2l1-1",
  changes: "M8 14A6 6 0 1 0 2.2 6.4M2 3v3.5h3.5M8 4.8V8l2.3 1.4",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.6 10.6L14 14",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  back: "M10 3L5 8l5 5",
  next: "M6 3l5 5-5 5",
  stop: "M5.2 1.8h5.6l3.4 3.4v5.6l-3.4 3.4H5.2l-3.4-3.4V5.2zM6 6l4 4M10 6l-4 4",
  plus: "M8 3v10M3 8h10",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  play: "M4.5 2.8v10.4L13 8z",
  pause: "M5 3v10M11 3v10",
  download: "M8 2v8M4.5 7L8 10.5 11.5 7M2.5 13.5h11",
  alert: "M8 2L14.5 13.5h-13zM8 6.3v3.4M8 11.6h.01",
  ok: "M3 8.5l3.2 3.2L13 5",
  user: "M8 7.8a2.9 2.9 0 1 0 0-5.8 2.9 2.9 0 0 0 0 5.8zM2.5 14c.4-2.6 2.6-4.2 5.5-4.2s5.1 1.6 5.5 4.2",
  light:
    "M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1.1 1.1M11.9 11.9L13 13M13 3l-1.1 1.1M4.1 11.9L3 13",
  dark: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z",
  system: "M2 3h12v8H2zM5.5 14h5M8 11v3",
  book: "M8 4c-1.4-1-3.5-1.3-6-1.2v9.4c2.5-.1 4.6.2 6 1.3 1.4-1.1 3.5-1.4 6-1.3V2.8C11.5 2.7 9.4 3 8 4zM8 4v9.5",
};

/** @param {{name: string, size?: number}} props */
export function Icon({ name, size = 16 }) {
  return html`<svg class="icon" viewBox="0 0 16 16" width=${size} height=${size} aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
}
