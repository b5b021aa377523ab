// What a key that was pressed does, on any screen.
import { layers, shortcutsOn, shortcutsShown } from "../keys.js";
import { go, to } from "../url.js";
import { useEffect } from "../vendor/preact.js";

/** @param {EventTarget | null} target */
function isField(target) {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable], .cm-host") !== null;
}

function focusFilter() {
  const first = document.querySelector("[data-filter]");
  if (first instanceof HTMLElement) first.focus();
}

/** Listens while it is shown. @param {{screens: {path: string, key: string}[]}} props */
export function KeyPresses({ screens }) {
  useEffect(() => {
    let going = false;
    const pressed = (/** @type {KeyboardEvent} */ event) => {
      if (
        !shortcutsOn.value ||
        event.metaKey ||
        event.ctrlKey ||
        event.altKey ||
        isField(event.composedPath()[0] ?? null)
      )
        return;
      const screen = going ? screens.find((each) => each.key === event.key) : undefined;
      const modal = document.querySelector("dialog[open]") !== null;
      const act =
        screen && !modal
          ? () => go(to(screen.path))
          : event.key === "?"
            ? () => {
                shortcutsShown.value = !shortcutsShown.value;
              }
            : event.key === "/" && !modal
              ? focusFilter
              : layers.findLast(({ current }) => current[event.key])?.current[event.key];
      going = event.key === "g" && !going;
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [screens.length]);
  return null;
}
