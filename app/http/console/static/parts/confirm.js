// Asks before something happens: says what will, takes a reason, and for final things the name.
import "../styles.js";
import { Waits } from "../api.js";
import { html, useState } from "../vendor/preact.js";
import { Problem } from "./loading.js";
import { useModal } from "./modal.js";

/** A key that is held down, since it opened the dialog, confirms nothing. @param {KeyboardEvent} event */
const held = (event) => {
  if (event.repeat && event.key === "Enter") event.preventDefault();
};

/** @param {{title: string, children: any, button: string, act: (reason: string) => Promise<unknown>, close: () => void,
 *   reason?: "none" | "wanted" | "needed", name?: string, danger?: boolean}} props */
export function Confirm({ title, children, button, act, close, reason = "wanted", name, danger = false }) {
  const dialog = useModal();
  const [why, setWhy] = useState("");
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const ready = (reason !== "needed" || why.trim() !== "") && (name === undefined || typed === name);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!ready || busy) return;
    setBusy(true);
    setError(null);
    try {
      await act(why.trim());
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return html`<dialog class="dialog" ref=${dialog} aria-label=${title} onCancel=${(/** @type {Event} */ event) => {
    event.preventDefault();
    close();
  }}>
    <form onSubmit=${submit} onKeyDown=${held}><h2>${title}</h2>
      <div class="said">${children}</div>
      ${
        reason !== "none" &&
        html`<label>Reason${reason === "wanted" ? " (optional)" : ""}
        <input value=${why} maxlength="500" onInput=${(/** @type {any} */ event) => setWhy(event.target.value)} placeholder="Goes to the trail of changes" /></label>`
      }
      ${
        name !== undefined &&
        html`<label>Type <b>${name}</b> to confirm
        <input value=${typed} autocomplete="off" spellcheck=${false} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label>`
      }
      <${Problem} error=${error} />
      <div class="buttons"><button type="button" autofocus=${danger && reason === "wanted"} onClick=${close}>${error instanceof Waits ? "Close" : "Cancel"}</button>
        ${!(error instanceof Waits) && html`<button class=${danger ? "danger" : "primary"} disabled=${!ready || busy}>${button}</button>`}</div>
    </form></dialog>`;
}
