// A drawer over the right side of the page; focus returns to where it was.
import "../styles.js";
import { Icon } from "../icons.js";
import { useKeys } from "../keys.js";
import { html } from "../vendor/preact.js";
import { useModal } from "./modal.js";

/** @param {{label: string, title: any, close: () => void, children: any, actions?: any, previous?: () => void, next?: () => void}} props */
export function Drawer({ label, title, close, children, actions, previous, next }) {
  const dialog = useModal();
  useKeys({ ...(previous && { "[": previous }), ...(next && { "]": next }) });
  const pressed = (/** @type {MouseEvent} */ event) => {
    if (event.target === dialog.current) close();
  };
  return html`<dialog class="drawer" ref=${dialog} aria-label=${label} onClick=${pressed}
      onCancel=${(/** @type {Event} */ event) => {
        event.preventDefault();
        close();
      }}>
    <div class="drawer-in"><header>
      <h2>${title}</h2>
      <span class="spring"></span>
      ${previous && html`<button type="button" class="quiet square" title="Previous ([)" aria-label="Previous" onClick=${previous}><${Icon} name="back" /></button>`}
      ${next && html`<button type="button" class="quiet square" title="Next (])" aria-label="Next" onClick=${next}><${Icon} name="next" /></button>`}
      <button type="button" class="quiet square" aria-label="Close" title="Close (Esc)" onClick=${close}><${Icon} name="close" /></button>
    </header>
    <div class="drawer-body" tabindex="0" role="region" aria-label=${label}>${children}</div>
    ${actions && html`<footer>${actions}</footer>`}</div>
  </dialog>`;
}
