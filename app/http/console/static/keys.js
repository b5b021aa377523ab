// Shortcuts: none of them approves, denies, suspends, revokes or deletes.
import { signal, useLayoutEffect, useRef } from "./vendor/preact.js";

export const shortcutsShown = signal(false);
export const searchShown = signal(false);
export const shortcutsOn = signal(localStorage.getItem("remit.shortcuts") !== "off");
/** The keys of what is shown, the newest last. @type {{current: Record<string, () => void>}[]} */
export const layers = [];

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
