// The list of shortcuts, and the switch that turns them off.
import "../styles.js";
import { shortcutsOn, shortcutsShown } from "../keys.js";
import { html } from "../vendor/preact.js";
import { useModal } from "./modal.js";

const KEYS = [
  ["/", "search everything; also ⌘K or Ctrl+K"],
  ["f", "first filter"],
  ["j k ↓ ↑", "move in a table"],
  ["Enter", "open"],
  ["Esc", "close"],
  ["[ ]", "previous and next entry in an open drawer"],
  ["p", "pause or resume the live list"],
  ["y", "copy a link to what is shown"],
  ["e", "copy the same request for curl"],
  ["?", "this list"],
];

/** Switch all shortcuts on or off. @param {boolean} on */
function setShortcuts(on) {
  shortcutsOn.value = on;
  localStorage.setItem("remit.shortcuts", on ? "on" : "off");
}

/** @param {{screens: {name: string, key: string}[]}} props */
export function Shortcuts({ screens }) {
  const dialog = useModal();
  const close = () => {
    shortcutsShown.value = false;
  };
  return html`<dialog class="dialog" ref=${dialog} aria-label="Shortcuts" onCancel=${(/** @type {Event} */ event) => {
    event.preventDefault();
    close();
  }}>
    <h2>Shortcuts</h2>
    <div class="keys-grid"><dl>${screens.map((each) => html`<dt><kbd>g</kbd> <kbd>${each.key}</kbd></dt><dd>${each.name}</dd>`)}</dl>
      <dl>${KEYS.map(([key, what]) => html`<dt>${key.split(" ").map((each) => html`<kbd>${each}</kbd> `)}</dt><dd>${what}</dd>`)}</dl></div>
    <label class="check"><input type="checkbox" checked=${shortcutsOn.value} onChange=${(/** @type {any} */ event) => setShortcuts(event.target.checked)} /> Shortcuts are on</label>
    <p class="small muted">No key approves, denies, suspends, revokes or deletes anything.</p>
    <div class="buttons"><button type="button" class="primary" onClick=${close}>Close</button></div></dialog>`;
}
