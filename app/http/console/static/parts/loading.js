// What is shown in place of data and of parts: not yet, nothing, or why not.
import { Refused, Waits } from "../api.js";
import { Icon } from "../icons.js";
import { to } from "../url.js";
import { html, useEffect, useState } from "../vendor/preact.js";
import { Text } from "./text.js";

/** A part that is loaded when it is first shown. load: imports the module that exports `name`. instead: shown until then. waits: what
 * follows is not shown until then.
 * @param {{load: () => Promise<any>, name: string, instead?: any, waits?: boolean, [prop: string]: any}} props */
export function Later({ load, name, instead = null, waits = false, ...props }) {
  const [part, setPart] = useState(/** @type {Function | null | false} */ (null));
  useEffect(() => {
    load().then(
      (found) => setPart(() => found[name]),
      () => setPart(false),
    );
  }, []);
  if (part) return html`<${part} ...${props} />`;
  return part === false && !instead
    ? html`<p class="alert" role="alert">This part of the console could not be loaded. If the service was updated, load the page again.</p>`
    : waits
      ? html`<div class="unready"></div>`
      : instead;
}

/** What went wrong, in a sentence; what support needs to find it follows. @param {{error: unknown, retry?: () => void}} props */
export function Problem({ error, retry }) {
  if (!error) return null;
  if (error instanceof Waits)
    return html`<div class="note calm" role="status"><p><b>It waits for a second person.</b> Nothing is changed yet. <a href=${to(`reviews/${error.review.id}`)}>Show what waits</a></p></div>`;
  const message = error instanceof Error ? error.message : String(error);
  return html`<div class="problem" role="alert"><${Icon} name="alert" /><div><p><b><${Text} value=${message} /></b></p>
    ${error instanceof Refused && html`<${Later} load=${() => import("./problem.js")} name="Details" refused=${error} key=${error} instead=${error.code} />`}
    ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}</div></div>`;
}

/** Nothing to show, and why. @param {{title: string, children?: any, icon?: string}} props */
export function Empty({ title, children, icon = "ok" }) {
  return html`<div class="empty"><span class="empty-icon"><${Icon} name=${icon} size=${22} /></span><h2>${title}</h2>${children}</div>`;
}

/** Rows that are on their way. @param {{rows?: number}} props */
export function Skeleton({ rows = 6 }) {
  return html`<div class="skeleton" role="status"><span class="sr">Loading</span>${Array.from({ length: rows }, (_, index) => html`<div style=${{ width: `${92 - ((index * 17) % 40)}%` }}></div>`)}</div>`;
}
