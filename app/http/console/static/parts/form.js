// A dialog with fields; what the service refuses is shown at the field that it names.
import "../styles.js";
import { Refused } from "../api.js";
import { html, useState } from "../vendor/preact.js";
import { Problem } from "./loading.js";
import { useModal } from "./modal.js";

/** @typedef {{name: string, label: string, note?: string, required?: boolean, lines?: number, value?: string, type?: string, options?: [string, string][]}} Field */

/** @param {{title: string, button: string, fields: Field[], close: () => void, send: (given: Record<string, string>, reason: string) => Promise<unknown>, children?: any, reason?: boolean, large?: boolean}} props */
export function Form({ title, button, fields, close, send, children, reason = true, large = false }) {
  const dialog = useModal();
  const [given, setGiven] = useState(() => Object.fromEntries(fields.map((each) => [each.name, each.value ?? ""])));
  const [why, setWhy] = useState("");
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const [busy, setBusy] = useState(false);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await send(given, why.trim());
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const details = error instanceof Refused ? error.details : [];
  const at = (/** @type {string} */ name) =>
    details.filter((each) => each.path.replace(/^\$\.?/, "").split(/[.[]/)[0] === name);
  const placed = details.length > 0 && details.every((each) => fields.some((field) => at(field.name).includes(each)));
  return html`<dialog class=${`dialog${large ? " large" : ""}`} ref=${dialog} aria-label=${title} onCancel=${(
    /** @type {Event} */ event,
  ) => {
    event.preventDefault();
    close();
  }}>
    <form onSubmit=${submit}><h2>${title}</h2>
      ${fields.map((field) => {
        const set = (/** @type {any} */ event) =>
          setGiven((before) => ({ ...before, [field.name]: event.target.value }));
        const common = {
          value: given[field.name],
          required: field.required,
          onInput: set,
          "aria-invalid": at(field.name).length > 0,
        };
        return html`<label>${field.label}
        ${
          field.options
            ? html`<select ...${common} onChange=${set}>${field.options.map(([value, text]) => html`<option value=${value}>${text}</option>`)}</select>`
            : field.lines
              ? html`<textarea rows=${field.lines} spellcheck=${false} ...${common}></textarea>`
              : html`<input type=${field.type ?? "text"} autocomplete="off" ...${common} />`
        }
        ${field.note && html`<p class="field-note">${field.note}</p>`}${at(field.name).map((each) => html`<p class="error small" role="alert">${each.message}</p>`)}</label>`;
      })}
      ${children}
      ${reason && html`<label>Reason (optional)<input maxlength="500" value=${why} placeholder="Goes to the trail of changes" onInput=${(/** @type {any} */ event) => setWhy(event.target.value)} /></label>`}
      ${!placed && html`<${Problem} error=${error} />`}
      <div class="buttons"><button type="button" onClick=${close}>Cancel</button><button class="primary" disabled=${busy}>${button}</button></div>
    </form></dialog>`;
}
