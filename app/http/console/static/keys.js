// Shortcuts, and what a key that was pressed does: none approves, denies, suspends, revokes or deletes.
import { Later } from "./parts/loading.js";
import { go, to } from "./url.js";
import { html, signal, useEffect, useLayoutEffect, useRef } from "./vendor/preact.js";

export const shortcutsShown = signal(false);
export const searchShown = signal(false);
export const shortcutsOn = signal(localStorage.getItem("remit.shortcuts") !== "off");
/** The keys of what is shown, the newest last. @type {{current: Record<string, () => void>}[]} */
const layers = [];

/** Keys of a screen or of an open drawer, while it is shown; the newest layer that knows a key gets it.
 * @param {Record<string, () => void>} keys */
export function useKeys(keys) {
  const layer = useRef(keys);
  layer.current = keys;
  useLayoutEffect(() => {
    // before the next key can come; a layer that is drawn again stays below newer ones
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, []);
}

/** @param {EventTarget | null} target */
function isField(target) {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable], .cm-host") !== null;
}

function focusFilter() {
  const first = document.querySelector("[data-filter]");
  if (first instanceof HTMLElement) first.focus();
}

function showSearch() {
  searchShown.value = true;
}

/** Listens while it is shown, and shows the search. @param {{screens: {path: string, name: string, key: string}[]}} props */
export function KeyPresses({ screens }) {
  useEffect(() => {
    let going = false;
    const pressed = (/** @type {KeyboardEvent} */ event) => {
      const modal = document.querySelector("dialog[open]") !== null;
      if (shortcutsOn.value && (event.metaKey || event.ctrlKey) && event.key === "k") {
        event.preventDefault();
        if (!modal) showSearch();
        return;
      }
      if (
        !shortcutsOn.value ||
        event.metaKey ||
        event.ctrlKey ||
        event.altKey ||
        isField(event.composedPath()[0] ?? null)
      )
        return;
      const screen = going ? screens.find((each) => each.key === event.key) : undefined;
      const act =
        screen && !modal
          ? () => go(to(screen.path))
          : event.key === "?"
            ? () => {
                shortcutsShown.value = !shortcutsShown.value;
              }
            : ["/", "f"].includes(event.key) && !modal
              ? event.key === "/"
                ? showSearch
                : focusFilter
              : layers.findLast(({ current }) => current[event.key])?.current[event.key];
      going = event.key === "g" && !going;
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [screens.length]);
  return (
    searchShown.value && html`<${Later} load=${() => import("./parts/search.js")} name="Search" screens=${screens} />`
  );
}
