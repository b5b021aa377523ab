// Shortcuts: none of them approves, denies, suspends, revokes or deletes.
import { go, to } from "./url.js";
import { signal, useEffect, useLayoutEffect } from "./vendor/preact.js";

export const shortcutsShown = signal(false);
export const shortcutsOn = signal(localStorage.getItem("remit.shortcuts") !== "off");
/** @type {Map<string, () => void>[]} */
const layers = [];

/** Switch all shortcuts on or off. @param {boolean} on */
export function setShortcuts(on) {
  shortcutsOn.value = on;
  localStorage.setItem("remit.shortcuts", on ? "on" : "off");
}

/** Keys of a screen or of an open drawer, while it is shown; the newest layer that knows a key gets it.
 * @param {Record<string, () => void>} keys */
export function useKeys(keys) {
  useLayoutEffect(() => { // before the next key can come
    const layer = new Map(Object.entries(keys));
    layers.push(layer);
    return () => { layers.splice(layers.indexOf(layer), 1); };
  });
}

/** @param {EventTarget | null} target */
function isField(target) {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable], .cm-host") !== null;
}

/** The keys that work everywhere. @param {{path: string, key: string}[]} screens */
export function useShortcuts(screens) {
  useEffect(() => {
    let going = false;
    const pressed = (/** @type {KeyboardEvent} */ event) => {
      if (!shortcutsOn.value || event.metaKey || event.ctrlKey || event.altKey || isField(event.composedPath()[0] ?? null)) return;
      const screen = going ? screens.find((each) => each.key === event.key) : undefined;
      const modal = document.querySelector("dialog[open]") !== null;
      const act = screen && !modal ? () => go(to(screen.path))
        : event.key === "?" ? () => { shortcutsShown.value = !shortcutsShown.value; }
          : event.key === "/" && !modal ? focusFilter : layers.findLast((layer) => layer.has(event.key))?.get(event.key);
      going = event.key === "g" && !going;
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [screens.length]);
}

function focusFilter() {
  const first = document.querySelector("[data-filter]");
  if (first instanceof HTMLElement) first.focus();
}
