/** The client: asks for decisions, within a deadline. */

import { type Approval, type Decision, interpret, readApproval, readDecision, readDecisions } from "./answers.js";
import { write } from "./arguments.js";
import type { components, paths } from "./api.js";
import { type Context, Enforcer, type EnforcerOptions, type Outcome, type Records } from "./enforcement.js";
import { Interrupted, Unavailable } from "./errors.js";
import {
  type Asked,
  baseOf,
  bodyOf,
  environment,
  headersOf,
  pause,
  queryOf,
  segment,
  type Sending,
} from "./requests.js";
import type { Method, Path, Request, RequestOptions, Result } from "./typed.js";
import { type Settings, Wire } from "./wire.js";

const FIRST_PAUSE_MS = 50;
const POLL_S = 30;
const KEY = /^[\x21-\x7e]{1,512}$/;

type Semantics = NonNullable<components["schemas"]["AuthorizeBatch"]["semantics"]>;

export interface RemitOptions {
  /** Such as http://127.0.0.1:8080; by default, REMIT_URL of the environment. */
  url?: string;
  /** By default, REMIT_API_KEY of the environment. */
  key?: string;
  /** For a whole answer, from connecting to its last byte, retries included. */
  timeoutMs?: number;
  /** How often a request is repeated after a failure. Above 0, every decision has an Idempotency-Key. */
  retries?: number;
  /** How many requests may be in flight at once; others wait. At most what the runtime itself can have: 6 in workers. */
  maxInFlight?: number;
  /** What sends requests, such as one bound to a proxy. */
  fetch?: typeof fetch;
  /** Is told of each call that runs without a decision, and of outcomes that were not reported. */
  warn?: (message: string) => void;
}

export interface AuthorizeOptions {
  /** What the caller vouches for and the agent cannot choose, such as {session, user}. */
  context?: Context;
  action?: string;
  /** The only approval to use; no new one is asked for. */
  approvalId?: string;
  /** Requests with the same key get the same answer for 24 hours, and count once. */
  idempotencyKey?: string;
  /** As the client's, for this call, if that is more. */
  retries?: number;
  signal?: AbortSignal;
}

/**
 * Asks Remit; make one and share it.
 *
 * Every failure throws a RemitError. A call counts as allowed only if an answer of the service says so.
 */
export class Remit {
  readonly warn: (message: string) => void;
  readonly #settings: Settings;
  readonly #retries: number;
  readonly #wire: Wire;

  constructor(options: RemitOptions = {}) {
    const { timeoutMs = 2000, retries = 0, maxInFlight = 100 } = options;
    const url = options.url ?? environment("REMIT_URL");
    const key = options.key ?? environment("REMIT_API_KEY");
    if (!url) throw new TypeError("No address: pass url, or set REMIT_URL, such as http://127.0.0.1:8080");
    if (!key) throw new TypeError("No API key: pass key, or set REMIT_API_KEY");
    if (!KEY.test(key)) {
      throw new TypeError("The API key must be visible ASCII characters without spaces (this one is not shown)");
    }
    if (!(timeoutMs > 0 && retries >= 0 && maxInFlight >= 1)) {
      throw new TypeError("timeoutMs must be above 0, retries 0 or more, maxInFlight 1 or more");
    }
    this.#retries = retries;
    const send = options.fetch ?? globalThis.fetch;
    this.#settings = { base: baseOf(url), timeoutMs, maxInFlight, fetch: (...args) => send(...args) };
    this.#wire = new Wire(this.#settings, key);
    this.warn = options.warn ?? ((message) => console.warn(message));
  }

  /** The address of the service. */
  get url(): string {
    return this.#settings.base;
  }

  /**
   * The decision on one tool call: run the tool only if it is `allowed`, and only with what was judged.
   *
   * agent: its id or alias. parameters: as `snapshot` takes them. `guard` and `Enforcer` see to both; use them if you can.
   * Throws RemitError; TypeError if something is not JSON.
   */
  async authorize(
    agent: string,
    tool: string,
    parameters?: unknown,
    options: AuthorizeOptions = {},
  ): Promise<Decision> {
    const body = bodyOf({ agent, tool, parameters, ...options });
    if (options.approvalId !== undefined) body["approval_id"] = options.approvalId;
    const { signal, retries = 0 } = options;
    const idempotencyKey = options.idempotencyKey ?? (this.#retries || retries ? crypto.randomUUID() : undefined);
    const sending = { method: "POST", path: "/v1/authorize", read: readDecision, body, idempotencyKey, retries };
    return this.#send(signal ? { ...sending, signal } : sending);
  }

  /**
   * The decisions on several calls, in one request: run each tool only if its decision is `allowed`.
   *
   * semantics: `execute_all`; `deny_on_first_deny` or `permit_on_first_permit`, after which the rest is not decided; or
   * `all_or_nothing`, for a plan that must not be stopped half way: all calls are allowed, or none is.
   * Throws as `authorize` does.
   */
  async authorizeMany(asked: readonly Asked[], semantics: Semantics = "execute_all"): Promise<Decision[]> {
    const body = { calls: asked.map(bodyOf), semantics };
    const mayEndEarly = semantics === "deny_on_first_deny" || semantics === "permit_on_first_permit";
    const read = (json: unknown) => readDecisions(json, asked.length, mayEndEarly);
    const idempotencyKey = this.#retries ? crypto.randomUUID() : undefined;
    return this.#send({ method: "POST", path: "/v1/authorize/batch", read, body, idempotencyKey });
  }

  /**
   * A function that runs `run` only if Remit allows the call, with a frozen snapshot of its first argument.
   *
   * The first argument is the tool's parameters, as one object; further arguments are passed on and not judged.
   * Denied throws Denied; escalated waits up to `waitMs` for a person and then throws ApprovalPending. Without an answer
   * it throws, unless `onUnavailable` is "allow".
   */
  guard<A, Rest extends unknown[], R>(
    agent: string,
    tool: string,
    run: (parameters: A, ...rest: Rest) => R,
    options?: EnforcerOptions,
  ): (parameters: A, ...rest: Rest) => Promise<Awaited<R>> {
    if (Object.prototype.toString.call(run).includes("GeneratorFunction")) {
      throw new TypeError(`${run.name || "The function"} is a generator: guard the calls in it instead`);
    }
    const enforcer = new Enforcer(this, agent, options);
    return function (this: unknown, parameters: A, ...rest: Rest) {
      return enforcer.run(tool, parameters, (judged) => run.call(this, judged, ...rest));
    };
  }

  /** The approval; if it is pending, once it has been decided or after `waitMs`. */
  async approval(id: string, options: { waitMs?: number; signal?: AbortSignal } = {}): Promise<Approval> {
    const until = performance.now() + (options.waitMs ?? 0);
    const path = `/v1/approvals/${segment(id)}`;
    for (;;) {
      const left = Math.max(0, until - performance.now());
      const wait = Math.min(POLL_S, Math.ceil(left / 1000));
      const { signal } = options;
      const sending = {
        method: "GET",
        path,
        read: (json: unknown) => readApproval(json, id),
        longerMs: wait * 1000,
        ...(wait ? { query: { wait } } : {}),
        ...(signal ? { signal } : {}),
      };
      try {
        const approval = await this.#send(sending);
        if (approval.status !== "pending" || performance.now() >= until) return approval;
      } catch (error) {
        if (!(error instanceof Unavailable) || error instanceof Interrupted || left < 1000) throw error;
        await pause(500); // a replica that restarts; the approval is in the store
      }
    }
  }

  /**
   * Approve the call; `uses` and `validSeconds` can grant less than the policy does.
   *
   * version: of the approval as the person saw it; refused if it has changed since.
   */
  async approve(
    id: string,
    options: { note?: string; uses?: number; validSeconds?: number; acceptHidden?: boolean; version?: number } = {},
  ): Promise<Approval> {
    const { version, ...body } = options;
    return this.#decide(id, "approve", body, version);
  }

  /** Deny the call. */
  async deny(id: string, options: { note?: string } = {}): Promise<Approval> {
    return this.#decide(id, "deny", options);
  }

  /** Withdraw the request for approval; only the key that asked can. */
  async cancel(id: string, options: { note?: string } = {}): Promise<Approval> {
    return this.#decide(id, "cancel", options);
  }

  /**
   * Report what became of an allowed call; once, with the key that asked.
   *
   * records: of a call that was executed, what rules may read of its result; the key needs the scope `record`.
   */
  async reportOutcome(decision: Decision | string, status: Outcome, records?: Records): Promise<void> {
    const id = typeof decision === "string" ? decision : decision.id;
    const path = `/v1/decisions/${segment(id)}/outcome`;
    await this.#send({ method: "POST", path, read: () => undefined, body: { status, ...(records ? { records } : {}) } });
  }

  /**
   * The answer of any endpoint of the API, typed by its OpenAPI document.
   *
   * Names in `path` are quoted. Throws RemitError.
   */
  async request<M extends Method, P extends Path<M> & keyof paths>(
    method: M,
    path: P,
    ...[given]: {} extends Request<M, P> ? [given?: Request<M, P>] : [given: Request<M, P>]
  ): Promise<Result<M, P>> {
    const { path: names = {}, ...rest } = (given ?? {}) as { path?: Record<string, string> } & RequestOptions;
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => segment(names[name] ?? ""));
    return this.#send({ method, path: filled, read: (json) => json as Result<M, P>, ...rest });
  }

  #decide(id: string, verb: string, body: object, ifVersion?: number): Promise<Approval> {
    const read = (json: unknown) => readApproval(json, id);
    const sending = { method: "POST", path: `/v1/approvals/${segment(id)}/${verb}`, read, body };
    return this.#send(ifVersion === undefined ? sending : { ...sending, ifVersion });
  }

  async #send<T>(sending: Sending<T>): Promise<T> {
    const { method, path, read, longerMs = 0, retries = 0, idempotencyKey, signal } = sending;
    const url = this.#settings.base + path + queryOf(sending.query);
    const body = sending.body === undefined ? undefined : write(sending.body);
    const headers = headersOf(sending);
    const until = performance.now() + this.#settings.timeoutMs + longerMs;
    const mayRepeat = method === "GET" || idempotencyKey !== undefined;
    for (let left = mayRepeat ? Math.max(this.#retries, retries) : 0, pauseMs = FIRST_PAUSE_MS; ; left -= 1, pauseMs *= 2) {
      try {
        const answer = await this.#wire.exchange({ method, url, headers, body, signal }, until);
        return interpret({ method, url: this.#settings.base + path }, answer, read);
      } catch (error) {
        const isLast = left === 0 || performance.now() + pauseMs >= until;
        if (!(error instanceof Unavailable) || error instanceof Interrupted || isLast) throw error;
      }
      await pause(pauseMs);
    }
  }
}
