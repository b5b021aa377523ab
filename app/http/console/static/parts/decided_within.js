// How long people took for the approvals that they have decided.
import { summary } from "../approvals_feed.js";
import { duration } from "../time.js";
import { html } from "../vendor/preact.js";

/** The median of the time from the request to the decision, of the latest that people have decided. */
export function DecidedWithin() {
  const told = summary.value;
  if (!told) return html`<p class="unready"></p>`;
  if (told.halfWithinSeconds === null) return null;
  const median = duration(Number(told.halfWithinSeconds));
  return html`<p class="muted small">${told.decided === 1 ? `The latest was decided within ${median}.` : `Half of the latest ${told.decided} were decided within ${median}.`}</p>`;
}
