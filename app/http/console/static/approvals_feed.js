// Pending approvals, kept up to date: one tab holds the stream and tells the others.
import { all, events, pause } from "./api.js";
import { parse, write } from "./exact.js";
import { computed, signal } from "./vendor/preact.js";

/** Approvals that were pending or have changed while the page was open, by id.
 * @type {import("./vendor/preact.js").Signal<Map<string, Approval>>} */
export const approvals = signal(new Map());
export const pendingCount = computed(() => [...approvals.value.values()].filter((each) => each.status === "pending").length);
/** False until the pending approvals have been read. */
export const approvalsRead = signal(false);
/** Why they could not be read the last time, null if they were. */
export const approvalsError = signal(/** @type {unknown} */ (null));
/** True in the tab that holds the stream. */
export const isLeader = signal(false);
/** How long a hidden tab keeps its streams. */
export const HIDDEN_MS = 30_000;

/** Note an approval's newer state. @param {Approval} approval */
export function noteApproval(approval) {
  const known = approvals.value.get(approval.id);
  if (known && known.version > approval.version) return;
  approvals.value = new Map(approvals.value).set(approval.id, approval);
}

/** Read what waits. */
export async function readPending() {
  let pending;
  try {
    pending = await all("/v1/approvals", { status: "pending", limit: 1000 }, 10_000);
    approvalsError.value = null;
  } catch (error) {
    approvalsError.value = error;
    return;
  }
  const kept = new Map([...approvals.value].filter(([, each]) => each.status !== "pending"));
  for (const each of pending) kept.set(each.id, each);
  approvals.value = kept;
  approvalsRead.value = true;
}

/** Follow approvals until the returned function is called. */
export function watchApprovals() {
  const stop = new AbortController();
  const tabs = new BroadcastChannel("remit.approvals");
  tabs.onmessage = ({ data }) => { if (data === "read") readPending(); else noteApproval(parse(data)); };
  readPending();
  whileShown(stop.signal, async (signal, after) => {
    try {
      return await navigator.locks.request("remit.approvals", { signal }, () => {
        isLeader.value = true;
        return events("/v1/approvals/stream", {
          signal, after,
          live: (open) => { if (open) { readPending(); tabs.postMessage("read"); } },
          event: (approval) => { noteApproval(approval); tabs.postMessage(write(approval, 0)); },
        });
      });
    } finally {
      isLeader.value = false;
    }
  });
  return () => { stop.abort(); tabs.close(); };
}

/** Keep a stream open while the page is shown. A page that is hidden for 30 s closes it, and resumes where it ended.
 * @param {AbortSignal} stop @param {(signal: AbortSignal, after: string) => Promise<string>} follow */
export async function whileShown(stop, follow) {
  for (let after = ""; !stop.aborted;) {
    while (document.hidden && !stop.aborted) await pause(500, stop);
    const hidden = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const changed = () => {
      clearTimeout(timer);
      if (document.hidden) timer = setTimeout(() => hidden.abort(), HIDDEN_MS);
    };
    document.addEventListener("visibilitychange", changed);
    try {
      after = await follow(AbortSignal.any([stop, hidden.signal]), after);
    } catch { // it was hidden, or this session may not follow the stream
      if (!hidden.signal.aborted) await pause(HIDDEN_MS, stop);
    } finally {
      document.removeEventListener("visibilitychange", changed);
      clearTimeout(timer);
    }
    await pause(200, stop);
  }
}
