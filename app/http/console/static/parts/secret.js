// A secret that is shown once, in a dialog that closes only when it has been stored.
import "../styles.js";
import { html, useState } from "../vendor/preact.js";
import { CopyButton } from "./copy.js";
import { useModal } from "./modal.js";

/** @param {{title: string, lines: [string, string][], close: () => void}} props */
export function Secret({ title, lines, close }) {
  const dialog = useModal();
  const [stored, setStored] = useState(false);
  return html`<dialog class="dialog" ref=${dialog} aria-label=${title} onCancel=${(/** @type {Event} */ event) => event.preventDefault()} onClose=${() => dialog.current?.showModal()}>
    <div class="stack"><h2>${title}</h2><p class="note">This is shown only now, and is stored nowhere.</p>
      ${lines.map(([name, text]) => html`<div class="secret"><span class="small muted">${name}</span><code>${text}</code><${CopyButton} text=${text} label="Copy" /></div>`)}
      <label class="check"><input type="checkbox" checked=${stored} onChange=${(/** @type {any} */ event) => setStored(event.target.checked)} /> I have stored it</label>
      <div class="buttons"><button type="button" class="primary" disabled=${!stored} onClick=${close}>Close</button></div></div></dialog>`;
}
