/** One request and its whole answer, within a deadline. Every failure becomes a RemitError. */

import type { Answer } from "./answers.js";
import { Interrupted, MalformedAnswer, NotAnOutage, RemitError, Unavailable } from "./errors.js";

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const ID_PREFIX = "remit-client-";
/** A timer that is set to more ends at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** Those of Node and Bun, and the words of Deno. */
const AWAY_CODES = ["ECONNREFUSED", "ENOTFOUND", "ConnectionRefused"];
const AWAY_WORDS = /tcp connect error: Connection refused|dns error: .*(Name or service not known|nodename nor servname)/;

/** Where the service is and who asks. The key appears in no message, and no inspection shows it. */
export interface Settings {
  readonly base: string;
  readonly timeoutMs: number;
  readonly maxInFlight: number;
  readonly fetch: typeof fetch;
}

export interface Outgoing {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Why a call is ended: the deadline has passed. */
const LATE = Symbol("late");

/** Sends requests, a bounded number at a time. */
export class Wire {
  readonly #settings: Settings;
  readonly #secret: Readonly<Record<string, string>>;
  readonly #slots: Slots;
  readonly #idPrefix = `${ID_PREFIX}${crypto.randomUUID().replaceAll("-", "")}-`;
  #numbers = 0;

  constructor(settings: Settings, key: string) {
    this.#settings = settings;
    this.#secret = { authorization: `Bearer ${key}`, accept: "application/json", "accept-encoding": "identity" };
    this.#slots = new Slots(settings.maxInFlight);
  }

  /** The answer. until: the deadline, by performance.now(). Throws RemitError. */
  async exchange(request: Outgoing, until: number): Promise<Answer> {
    const ended = new AbortController();
    const timer = setTimeout(() => ended.abort(LATE), Math.min(until - performance.now(), MAX_TIMER_MS));
    const stop = () => ended.abort(new Interrupted("The call to Remit was ended by its signal."));
    const aborted = new Promise<never>((_, reject) => {
      ended.signal.addEventListener("abort", () => reject(ended.signal.reason));
    });
    aborted.catch(() => undefined);
    request.signal?.addEventListener("abort", stop);
    if (request.signal?.aborted) stop();
    let hasSlot = false;
    try {
      const slot = this.#slots.take(ended.signal);
      if (slot) await Promise.race([slot, aborted]);
      hasSlot = true;
      const id = this.#idPrefix + ++this.#numbers;
      const answering = this.#answer(request, id, ended.signal);
      answering.catch(() => undefined);
      const answer = await Promise.race([answering, aborted]);
      if (performance.now() > until) throw this.#late();
      this.#requireAnswerTo(id, answer);
      return answer;
    } catch (error) {
      const reason: unknown = ended.signal.aborted ? ended.signal.reason : error;
      ended.abort(); // the rest of an answer that was refused is not read
      throw this.#explained(reason, hasSlot);
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener("abort", stop);
      if (hasSlot) this.#slots.give();
    }
  }

  async #answer(request: Outgoing, id: string, signal: AbortSignal): Promise<Answer> {
    const { method, body } = request;
    const headers: Record<string, string> = { ...this.#secret, ...request.headers, "x-request-id": id };
    if (body !== undefined) headers["content-type"] = "application/json";
    const init = { method, headers, redirect: "manual", signal, ...(body === undefined ? {} : { body }) } as const;
    const response = await this.#settings.fetch(request.url, init);
    return {
      status: response.status,
      headers: response.headers,
      text: await textOf(response, request.url),
      isRedirect: response.type === "opaqueredirect" || response.redirected,
    };
  }

  /** Remit returns the request's id, but a proxy may have replaced it, so only ids in this client's format count. */
  #requireAnswerTo(id: string, answer: Answer): void {
    const answered = answer.headers.get("x-request-id") ?? id;
    if (answered !== id && answered.startsWith(ID_PREFIX)) {
      throw new MalformedAnswer(
        `${this.#settings.base} sent the answer to another request. Something between here and Remit mixes answers ` +
          "up, so no answer that comes through it can be trusted.",
      );
    }
  }

  #explained(error: unknown, hasSlot: boolean): RemitError {
    const { base, maxInFlight } = this.#settings;
    if (error instanceof RemitError) return error;
    if (error === LATE && hasSlot) return this.#late();
    if (error === LATE) {
      return new NotAnOutage(
        `More than ${maxInFlight} calls of this client to ${base} were in flight. Raise maxInFlight, or make fewer ` +
          "calls at once.",
      );
    }
    const why = causes(error);
    if (/UND_ERR_(CLOSED|DESTROYED)/.test(why)) {
      return new Interrupted(`The call to Remit was interrupted (${why}). Close what fetch uses after the last call.`);
    }
    if (/\bE(MFILE|NFILE|NOBUFS|ADDRNOTAVAIL)\b|subrequest/.test(why)) {
      return new NotAnOutage(`This program has too many connections open (${why}). Make fewer calls at once.`);
    }
    if (/CERT|certificate|SELF_SIGNED|ISSUER|LEAF_SIGNATURE|HOSTNAME_MISMATCH|UNTRUSTED/i.test(why)) {
      return new MalformedAnswer(
        `The server at ${base} could not prove that it is Remit (${why}). Check REMIT_URL, or let the program trust ` +
          "your own authority if it signed the server's certificate (NODE_EXTRA_CA_CERTS).",
      );
    }
    if (/internal error; reference/.test(why) && /^https:/i.test(base)) {
      return new NotAnOutage(
        `Remit at ${base} cannot be reached, and this worker is not told why (${why}). Check REMIT_URL, and that the ` +
          "server's certificate is valid.",
      );
    }
    const Kind = isAway(error) ? Unavailable : NotAnOutage;
    return new Kind(`Remit at ${base} cannot be reached (${why}). Check REMIT_URL and that it is running.`);
  }

  #late(): NotAnOutage {
    const { base, timeoutMs } = this.#settings;
    return new NotAnOutage(
      `Remit at ${base} did not answer within ${timeoutMs} ms. Check that it is healthy (GET /readyz) and that ` +
        "this program is not too busy to read the answer, or raise timeoutMs.",
    );
  }
}

/** How many calls may be in flight: beyond what a runtime can have at once, a call would wait unnoticed. */
class Slots {
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(free: number) {
    this.#free = free;
  }

  /** Undefined if there was a free slot; otherwise, resolves when there is one. */
  take(signal: AbortSignal): Promise<void> | undefined {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return undefined;
    }
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      signal.addEventListener("abort", () => this.#waiting.delete(resolve));
    });
  }

  give(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free += 1;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}

async function textOf(response: Response, url: string): Promise<string | undefined> {
  const tooLarge = () => new MalformedAnswer(`${url} answered with more than ${MAX_ANSWER_BYTES >> 20} MiB.`);
  if (Number(response.headers.get("content-length")) > MAX_ANSWER_BYTES) throw tooLarge();
  if (!response.body) return "";
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const reader = response.body.getReader();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (!done && (bytes += value.byteLength) > MAX_ANSWER_BYTES) throw tooLarge();
    try {
      text += decoder.decode(value, { stream: !done });
    } catch {
      return undefined;
    }
    if (done) return text;
  }
}

/**
 * Whether nothing listens where Remit should be: no such host, or every address that was tried refuses.
 *
 * Each runtime says it in its own words; what none of them says is no outage.
 */
function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isAway);
  if (error.cause !== undefined) return isAway(error.cause);
  const code = (error as { code?: unknown }).code;
  if (typeof code === "string") return AWAY_CODES.includes(code);
  return AWAY_WORDS.test(error.message);
}

/** The messages and codes of an error and of what caused it. None contains what was sent. */
function causes(error: unknown): string {
  const found: string[] = [];
  for (
    let at = error;
    at instanceof Error && found.length < 5;
    at = at instanceof AggregateError ? at.errors[0] : at.cause
  ) {
    const code = (at as { code?: unknown }).code;
    found.push(`${at.name}: ${at.message}${typeof code === "string" ? ` [${code}]` : ""}`);
  }
  return found.join("; ") || String(error);
}
