import { html } from "../vendor/preact.js";

export function Screen() {
  return html`<div class="page"></div>`;
}
