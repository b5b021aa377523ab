// Links to the parts of a page, in a line that can be scrolled where it is too narrow for them.
import { html, useLayoutEffect, useRef } from "../vendor/preact.js";

/** The one that is shown is in sight. tabs: names with their words. @param {{label: string, tabs: [string, string][], shown: string, at: (name: string) => string}} props */
export function Tabs({ label, tabs, shown, at }) {
  const line = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const node = /** @type {HTMLElement} */ (line.current);
    const link = node.querySelector("[aria-current]")?.getBoundingClientRect();
    const room = node.getBoundingClientRect();
    if (link) node.scrollLeft += link.left + link.width / 2 - room.left - room.width / 2;
  }, [shown]);
  return html`<nav class="tabs" aria-label=${label} ref=${line}>${tabs.map(([name, words]) => html`<a href=${at(name)} aria-current=${name === shown ? "page" : undefined}>${words}</a>`)}</nav>`;
}
