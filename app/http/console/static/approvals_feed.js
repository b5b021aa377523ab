// Pending approvals, kept up to date: one tab holds the stream and tells the others.
import { all, events, whileShown } from "./api.js";
import { parse, write } from "./exact.js";
import { computed, signal } from "./vendor/preact.js";

/** Approvals that were pending or have changed while the page was open, by id.
 * @type {import("./vendor/preact.js").Signal<Map<string, Approval>>} */
export const approvals = signal(new Map());
export const pendingCount = computed(
  () => [...approvals.value.values()].filter((each) => each.status === "pending").length,
);
/** False until the pending approvals have been read. */
export const approvalsRead = signal(false);
/** Why they could not be read the last time, null if they were. */
export const approvalsError = signal(/** @type {unknown} */ (null));
/** The most that are read at once. */
const MOST = 10_000;
/** How many are kept that wait no longer: those of which something was heard last. */
export const KEPT = 500;

const LOCK = "remit.approvals";
/** How long the stream has until what waits is read without it. */
const OPEN_MS = 1000;
let [asked, told] = [0, 0];

/** @param {Map<string, Approval>} known */
function keep(known) {
  for (const { id } of [...known.values()].filter((each) => each.status !== "pending").slice(0, -KEPT))
    known.delete(id);
  approvals.value = known;
}

/** Note an approval's newer state. @param {Approval} approval */
export function noteApproval(approval) {
  const known = approvals.value.get(approval.id);
  if (known && known.version > approval.version) return;
  const next = new Map(approvals.value);
  next.delete(approval.id); // the newest is the last
  keep(next.set(approval.id, approval));
}

/** Read what waits. What waited and does so no more stays, as `ended`, so that no card moves. */
export async function readPending() {
  const before = approvals.value;
  const mine = ++asked;
  let pending;
  try {
    pending = await all("/v1/approvals", { status: "pending", limit: 1000 }, MOST);
    if (mine < told) return; // a later reading knows more
    told = mine;
    approvalsError.value = null;
  } catch (error) {
    if (mine < told) return;
    told = mine;
    approvalsError.value = error;
    return;
  }
  const known = new Map(approvals.value);
  const waits = new Set(pending.map((each) => each.id));
  // The stream may know more by now.
  for (const [id, each] of pending.length < MOST ? before : []) {
    if (each.status === "pending" && !waits.has(id) && known.get(id) === each) {
      known.delete(id);
      known.set(id, { ...each, status: "ended" });
    }
  }
  for (const each of pending) if (!(Number(known.get(each.id)?.version) > each.version)) known.set(each.id, each);
  keep(known);
  approvalsRead.value = true;
}

/** Follow approvals until the returned function is called. */
export function watchApprovals() {
  const stop = new AbortController();
  const tabs = new BroadcastChannel("remit.approvals");
  tabs.onmessage = ({ data }) => {
    if (data === "read") readPending();
    else noteApproval(parse(data));
  };
  // Whoever follows the stream reads what waits as soon as it is open, and tells the others. If another tab follows it, or if it
  // does not open, what waits is read without it.
  const before = asked;
  const read = () => {
    if (!stop.signal.aborted && asked === before) readPending();
  };
  navigator.locks.query().then(({ held }) => held?.some((each) => each.name === LOCK) && read());
  setTimeout(read, OPEN_MS);
  whileShown(
    stop.signal,
    async (signal, after) => {
      const again = () => {
        readPending();
        tabs.postMessage("read");
      };
      return navigator.locks.request(LOCK, { signal }, () =>
        events("/v1/approvals/stream", {
          signal,
          after,
          live: (open) => {
            if (open) again();
          },
          event: (approval, _, name) => {
            if (name === "lost") again();
            else {
              noteApproval(approval);
              tabs.postMessage(write(approval, 0));
            }
          },
        }),
      );
    },
    () => globalThis.Notification?.permission === "granted",
  );
  return () => {
    stop.abort();
    tabs.close();
  };
}
