// What waits for people, kept up to date: how many, and whole where their cards are shown. One tab holds the stream and tells the others.
import { all, events, get, pause, Refused, whileShown } from "./api.js";
import { parse, write } from "./exact.js";
import { duration } from "./time.js";
import { computed, html, signal } from "./vendor/preact.js";

/** How many wait, those that have waited longest, and how long people take; null until it has been read.
 * @type {import("./vendor/preact.js").Signal<Summary | null>} */
export const summary = signal(null);
/** Why it could not be read the last time, null if it was. */
export const summaryError = signal(/** @type {unknown} */ (null));
export const pendingCount = computed(() => Number(summary.value?.waiting ?? 0));
/** Approvals that were pending or have changed while their cards were shown, by id.
 * @type {import("./vendor/preact.js").Signal<Map<string, Approval>>} */
export const approvals = signal(new Map());
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
/** The least time between two readings of how many wait. */
const COUNTED_MS = 1000;
let [asked, told, turn] = [0, 0, 0];
/** Whose card is shown: "" = of all that wait, null = of none. */
let card = /** @type {string | null} */ (null);
/** True once what waits has been read. */
let begun = false;

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

/** Read whole what waits, or the approval with this id, until the returned function is called: its card is shown. */
export function showCards(id = "") {
  card = id;
  if (!id && begun) readPending();
  return () => {
    card = null;
    told = ++asked; // what is still read is not wanted any more
    approvals.value = new Map();
    approvalsRead.value = false;
    approvalsError.value = null;
  };
}

/** Read how many wait. */
export async function readSummary() {
  const mine = ++turn;
  try {
    const { data } = await get("/v1/approvals/summary");
    if (mine !== turn) return; // a later reading knows more
    summary.value = data;
    summaryError.value = null;
  } catch (error) {
    if (mine === turn) summaryError.value = error;
  }
}

function readAll() {
  begun = true;
  readSummary();
  if (card === "") readPending();
}

/** An approval has changed. @param {string} id */
async function changed(id) {
  if (card !== "" && card !== id) return;
  try {
    const { data } = await get(`/v1/approvals/${id}`);
    if (card === "" || card === id) noteApproval(data);
  } catch (error) {
    if (card === "" && !(error instanceof Refused && error.status === 404)) readPending();
  }
}

/** Follow approvals until the returned function is called. */
export function watchApprovals() {
  const stop = new AbortController();
  const tabs = new BroadcastChannel("remit.approvals");
  tabs.onmessage = ({ data }) => {
    if (data === "read") readAll();
    else if (data.startsWith("{")) summary.value = parse(data);
    else changed(data);
  };
  // At once, and then at most once in a while: the last change is counted, too.
  let [counting, due] = [false, false];
  const count = async () => {
    due = counting;
    if (counting) return;
    counting = true;
    await readSummary();
    if (stop.signal.aborted) return;
    if (summary.value) tabs.postMessage(write(summary.value, 0));
    await pause(COUNTED_MS, stop.signal);
    counting = false;
    if (due && !stop.signal.aborted) count();
  };
  // Whoever follows the stream reads what waits as soon as it is open, and tells the others. If another tab follows it, or if it
  // does not open, what waits is read without it.
  const read = () => {
    if (!stop.signal.aborted && !begun) readAll();
  };
  navigator.locks.query().then(({ held }) => held?.some((each) => each.name === LOCK) && read());
  setTimeout(read, OPEN_MS);
  whileShown(
    stop.signal,
    async (signal, after) => {
      const again = () => {
        readAll();
        tabs.postMessage("read");
      };
      return navigator.locks.request(LOCK, { signal }, () =>
        events("/v1/approvals/stream", {
          query: { brief: true },
          signal,
          after,
          live: (open) => {
            if (open) again();
          },
          event: ({ id }, _, name) => {
            if (name === "lost") again();
            else {
              changed(id);
              count();
              tabs.postMessage(id);
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
    begun = false;
  };
}

/** The median of the time from the request to the decision, of the latest that people have decided. */
export function DecidedWithin() {
  const told = summary.value;
  if (!told) return html`<p class="unready"></p>`;
  if (told.halfWithinSeconds === null) return null;
  const median = duration(Number(told.halfWithinSeconds));
  return html`<p class="muted small">${told.decided === 1 ? `The latest was decided within ${median}.` : `Half of the latest ${told.decided} were decided within ${median}.`}</p>`;
}
