// How long people took for the approvals that they have decided.
import { get } from "../api.js";
import { duration } from "../time.js";
import { html } from "../vendor/preact.js";
import { useRead } from "./read.js";

/** The median of the time from the request to the decision, of the latest that people have decided. */
export function DecidedWithin() {
  const read = useRead(
    "decided within",
    async (signal) =>
      /** @type {Approval[]} */ (
        (await get("/v1/approvals", { status: "approved,denied,consumed", limit: 50 }, signal)).data
      ),
  );
  const seconds = (read.data ?? [])
    .flatMap((each) => {
      const last = each.approvals.at(-1);
      return last ? [(Date.parse(last.at) - Date.parse(each.createdAt)) / 1000] : [];
    })
    .sort((a, b) => a - b);
  if (!read.data && !read.error) return html`<p class="unready"></p>`;
  if (!seconds.length) return null;
  const median = duration(seconds[Math.floor((seconds.length - 1) / 2)]);
  return html`<p class="muted small">${seconds.length === 1 ? `The latest was decided within ${median}.` : `Half of the latest ${seconds.length} were decided within ${median}.`}</p>`;
}
