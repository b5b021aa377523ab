// The only way to the service: requests, pages and streams of /v1.
import { parse, write } from "./exact.js";
import { noteTime } from "./time.js";
import { address } from "./url.js";
import { signal } from "./vendor/preact.js";

/** The service refused a request. */
export class Refused extends Error {
  /** @param {number} status @param {{code: string, message: string, details?: {path: string, message: string}[]}} problem @param {Headers} [headers] */
  constructor(status, problem, headers) {
    super(problem.message);
    this.status = status;
    this.code = problem.code;
    this.details = problem.details ?? [];
    this.requestId = headers?.get("X-Request-ID") ?? "";
    this.retryAfter = Number(headers?.get("Retry-After") ?? 0);
  }
}

/** The change was asked for and not made: it waits for a second person. */
export class Waits extends Error {
  /** @param {Review} review */
  constructor(review) {
    super("It waits for a second person");
    this.review = review;
  }
}

/** Why data may be old, "" while all is well. */
export const trouble = signal("");
const UNREACHABLE = "This page cannot reach Remit";
/** Why some of what is shown is old, "" if none is. */
export const stale = signal("");
/** @type {Map<string, string>} */
const refused = new Map();
/** Note why what was read under this key could not be read again, or that it was. @param {string} key @param {unknown} [error] */
export function noteStale(key, error) {
  if (error instanceof Error) refused.set(key, error.message);
  else refused.delete(key);
  stale.value = [...refused.values()][0] ?? "";
}

/** Call it whenever the person comes back to the page. @param {() => void} again */
export function whenSeen(again) {
  const seen = () => {
    if (!document.hidden) again();
  };
  document.addEventListener("visibilitychange", seen);
  return () => document.removeEventListener("visibilitychange", seen);
}

/** True while the page must ask who is there. */
export const signedOut = signal(false);
/** @type {(() => void)[]} */
let waiting = [];

/** Note that somebody has signed in: reads that were refused go on. */
export function noteSignIn() {
  signedOut.value = false;
  for (const resume of waiting.splice(0)) resume();
}

/** @param {string} method @param {string} path @param {AskOptions} options */
export function sent(method, path, options) {
  const { early } = globalThis;
  if (early && path === "/v1/session" && method === "GET") {
    globalThis.early = undefined;
    return early;
  }
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json" };
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  if (options.ifMatch !== undefined) headers["If-Match"] = `"${options.ifMatch}"`;
  // Headers are bytes: a reason in any script is sent as UTF-8.
  if (options.reason) headers["Change-Reason"] = String.fromCharCode(...new TextEncoder().encode(options.reason));
  const body = options.body === undefined ? undefined : write(options.body, 0);
  return fetch(address(path, options.query), {
    method,
    headers,
    body,
    signal: options.signal,
    cache: "no-store",
    redirect: "error",
  });
}

/** @param {Response} response */
export async function refusal(response) {
  let problem = { code: `HTTP_${response.status}`, message: `The service answered ${response.status}` };
  try {
    problem = parse(await response.text()).error ?? problem;
  } catch {
    /* not from Remit: a proxy's page */
  }
  return new Refused(response.status, problem, response.headers);
}

/** Send a request. Reads wait for a sign-in and for Retry-After; writes are never repeated. Raises Refused, or Waits if what
 * was asked for is not done yet.
 * @param {string} method @param {string} path @param {AskOptions} [options] @returns {Promise<Answer>} */
export async function ask(method, path, options = {}) {
  const reads = method === "GET";
  for (let attempt = 0; ; attempt++) {
    let response;
    try {
      response = await sent(method, path, options);
    } catch (error) {
      if (options.signal?.aborted) throw error;
      trouble.value = UNREACHABLE;
      throw new Refused(0, { code: "UNREACHABLE", message: UNREACHABLE });
    }
    noteTime(response.headers.get("Date"));
    if (response.ok) {
      trouble.value = "";
      const { headers } = response;
      const text = await response.text();
      const data = !text ? null : headers.get("Content-Type")?.startsWith("text/plain") ? text : parse(text);
      if (response.status === 202) throw new Waits(data);
      return {
        data,
        etag: (headers.get("ETag") ?? "").replaceAll('"', ""),
        next: headers.get("X-Next-Cursor") ?? "",
        floor: headers.get("X-Audit-Floor") ?? "",
      };
    }
    const refused = await refusal(response);
    if (refused.status === 401 && path !== "/v1/session") {
      signedOut.value = true;
      if (!reads) throw refused;
      await new Promise((resume) => waiting.push(() => resume(null)));
      attempt = 0;
    } else if (refused.status === 429 && reads && !attempt && refused.retryAfter <= 60) {
      await pause(refused.retryAfter * 1000 || 1000, options.signal);
    } else {
      if (refused.status === 503) trouble.value = `Decisions are being refused: ${refused.message}`;
      throw refused;
    }
  }
}

/** @param {string} path @param {Record<string, any>} [query] @param {AbortSignal} [signal] */
export const get = (path, query, signal) => ask("GET", path, { query, signal });

/** Every item of a list that has pages, or the first so many. @param {string} path @param {Record<string, any>} [query] @param {number} [most] @param {number} [pages] @param {AbortSignal} [signal] */
export async function all(path, query = {}, most = 5000, pages = Infinity, signal) {
  /** @type {any[]} */
  const found = [];
  for (let cursor = "", page = 1; ; page++) {
    const { data, next } = await get(path, { ...query, cursor }, signal);
    found.push(...data);
    if (!next || found.length >= most || page === pages) return found.slice(0, most);
    cursor = next;
  }
}

/** @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}

/** Lines of an answer that is still being written. @param {Response} response @returns {AsyncGenerator<string>} */
export async function* linesOf(response) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split("\n");
      rest = done ? "" : /** @type {string} */ (lines.pop());
      yield* lines;
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Follow a stream of events until the signal says stop. It reconnects where it was cut off, after 1 to 30 s.
 * `live` is called once the stream is open, before any event.
 * @param {string} path @param {{query?: Record<string, any>, signal: AbortSignal, after?: string, live?: (open: boolean) => void, failed?: (error: Refused) => void,
 *   event: (data: any, id: string, name: string) => void}} how */
export async function events(path, how) {
  let last = how.after ?? "";
  for (let failures = 0; !how.signal.aborted; failures++) {
    let least = 0;
    try {
      /** @type {Record<string, string>} */
      const headers = last ? { "Last-Event-ID": last } : {};
      const response = await fetch(address(path, how.query), { headers, signal: how.signal, cache: "no-store" });
      if (!response.ok) throw await refusal(response);
      failures = 0;
      trouble.value = "";
      how.live?.(true);
      let [data, id, name] = ["", "", ""];
      for await (const line of linesOf(response)) {
        if (line === "") {
          if (id) last = id;
          if (data) how.event(parse(data), id, name);
          [data, id, name] = ["", "", ""];
        } else if (line.startsWith("data:")) data += line.slice(5).trim();
        else if (line.startsWith("id:")) id = line.slice(3).trim();
        else if (line.startsWith("event:")) name = line.slice(6).trim();
      }
    } catch (error) {
      if (how.signal.aborted) return last;
      if (error instanceof Refused && error.status === 403) throw error;
      if (error instanceof Refused && error.status === 401) {
        signedOut.value = true;
        await new Promise((resume) => waiting.push(() => resume(null)));
      } else if (!(error instanceof Refused)) {
        trouble.value = UNREACHABLE;
      } else {
        if (error.status === 503) trouble.value = `Decisions are being refused: ${error.message}`;
        least = error.retryAfter * 1000;
        how.failed?.(error);
      }
    }
    how.live?.(false);
    await pause(
      Math.max(least, Math.min(30_000, 1000 * 2 ** Math.min(failures, 5)) * (0.75 + Math.random() / 2)),
      how.signal,
    );
  }
  return last;
}

/** How long a hidden tab keeps its streams. */
const HIDDEN_MS = 30_000;

/** Keep a stream open while the page is shown. A page that is hidden for 30 s closes it, unless it is wanted, and resumes where it ended.
 * @param {AbortSignal} stop @param {(signal: AbortSignal, after: string) => Promise<string>} follow @param {() => boolean} [wanted] */
export async function whileShown(stop, follow, wanted = () => false) {
  for (let after = ""; !stop.aborted;) {
    while (document.hidden && !wanted() && !stop.aborted) await pause(500, stop);
    const hidden = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const changed = () => {
      clearTimeout(timer);
      if (document.hidden)
        timer = setTimeout(() => {
          if (!wanted()) hidden.abort();
        }, HIDDEN_MS);
    };
    document.addEventListener("visibilitychange", changed);
    try {
      after = await follow(AbortSignal.any([stop, hidden.signal]), after);
    } catch {
      // it was hidden, or this session may not follow the stream
      if (!hidden.signal.aborted) await pause(HIDDEN_MS, stop);
    } finally {
      document.removeEventListener("visibilitychange", changed);
      clearTimeout(timer);
    }
    await pause(200, stop);
  }
}
