/** What an answer means. A decision counts only if it is unambiguous. */

import type { components } from "./api.js";
import { MalformedAnswer, NotAnOutage, Refused, RemitError, Throttled, Unavailable } from "./errors.js";

type Schemas = components["schemas"];

/**
 * One decision; `id` is its entry in the audit log. Only `allowed` permits the call.
 *
 * result: `unavailable` only if `onUnavailable: "allow"` let a call through without a decision; `id` is then "".
 */
export type Decision = Pick<Schemas["DecisionView"], "id" | "allowed" | "reason"> &
  Readonly<Partial<Omit<Schemas["DecisionView"], "id" | "allowed" | "reason" | "result">>> & {
    readonly result: "allowed" | "denied" | "escalated" | "unavailable";
  };

/** A call that a person was asked about: pending, approved, denied, expired, cancelled or consumed. */
export type Approval = Readonly<Pick<Schemas["Approval"], "id" | "status"> & Partial<Schemas["Approval"]>>;

/** An answer as it arrived: headers have names in lower case. */
export interface Answer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly text: string | undefined;
  readonly isRedirect: boolean;
}

/** The request that was answered, for messages. */
export interface Asked {
  readonly method: string;
  readonly url: string;
}

/** A field is missing or of the wrong type. */
export class NotAnAnswer extends Error {}

/** The result that `read` finds in the answer. Throws RemitError: why there is none. */
export function interpret<T>(asked: Asked, answer: Answer, read: (json: unknown) => T): T {
  if (answer.status < 200 || answer.status > 299 || answer.isRedirect) throw failure(asked, answer);
  try {
    return read(json(answer));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new MalformedAnswer(
      `${asked.url} answered ${answer.status} with something that Remit would not send (${why}). Check that ` +
        "REMIT_URL is Remit's address and that no proxy answers in its place.",
    );
  }
}

/** The decision in an answer. Throws NotAnAnswer unless it is unambiguous. */
export function readDecision(answer: unknown): Decision {
  const got = object(answer);
  const { result, allowed } = got;
  if (!["allowed", "denied", "escalated"].includes(result as string) || allowed !== (result === "allowed")) {
    throw new NotAnAnswer(`result ${shown(result)} and allowed ${shown(allowed)} are not a decision`);
  }
  requireText(got, "id", "reason");
  if (got["approval"] != null) requireText(object(got["approval"]), "id");
  return Object.freeze(got) as unknown as Decision;
}

/** The decisions in the answer to a batch; a call that was not decided is denied. Throws NotAnAnswer. */
export function readDecisions(answer: unknown, asked: number, mayEndEarly: boolean): Decision[] {
  const results = object(answer)["results"];
  if (!Array.isArray(results)) throw new NotAnAnswer("without results, it is not a decision");
  if (results.length > asked || (!mayEndEarly && results.length < asked)) {
    throw new NotAnAnswer(`${results.length} decisions on ${asked} calls`);
  }
  return results.map((each) => {
    const got = object(each);
    if ("decision" in got) return readDecision(got["decision"]);
    const error = object(got["error"]);
    requireText(error, "code", "message");
    const { code, message } = error as { code: Decision["code"]; message: string };
    return Object.freeze({ id: "", allowed: false, result: "denied", reason: message, code }) as Decision;
  });
}

/** The approval with this id. Throws NotAnAnswer. */
export function readApproval(answer: unknown, id: string): Approval {
  const got = object(answer);
  requireText(got, "id", "status");
  if ((got["id"] as string).toLowerCase() !== id.toLowerCase()) throw new NotAnAnswer("it is another approval's");
  return got as unknown as Approval;
}

function json(answer: Answer): unknown {
  if (answer.text === undefined) throw new NotAnAnswer("it is not UTF-8");
  if (!answer.text) return undefined;
  const kind = (answer.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  if (kind !== "application/json" && !kind.endsWith("+json")) throw new NotAnAnswer("its Content-Type is not JSON");
  return JSON.parse(answer.text);
}

function failure(asked: Asked, answer: Answer): RemitError {
  const { code, message, details } = problem(answer.text);
  const { status } = answer;
  const where = `${asked.method} ${asked.url}`;
  if (answer.isRedirect || (status > 299 && status < 400)) {
    return new MalformedAnswer(
      `${where} answered with a redirect (${status}), which is not followed: set REMIT_URL to the final address.`,
    );
  }
  if (status === 429) {
    const seconds = secondsOf(answer.headers.get("retry-after"));
    const wait = seconds === undefined ? "" : ` Try again in ${seconds} s.`;
    return new Throttled(`Remit refuses further requests with this key for now: ${message}.${wait}`, code, seconds);
  }
  if (status >= 500) {
    // The answers that the agent cannot cause, whatever it calls and however often.
    const isOutage = status === 502 || status === 504 || (status === 503 && code === "STORE_UNAVAILABLE");
    const Kind = isOutage ? Unavailable : NotAnOutage;
    return new Kind(`${where} answered ${status} ${code}: ${message}. There is no decision; try again later.`);
  }
  if (status === 401) {
    const text = `Remit does not accept the API key (${code}): ${message}. Set REMIT_API_KEY to a valid key.`;
    return new Refused(text, status, code);
  }
  return new Refused(`${where} was refused with ${status} ${code}: ${message}`, status, code, details);
}

/** Code, message and details of an error's body; placeholders for a page that some proxy sent. */
function problem(text: string | undefined): { code: string; message: string; details: unknown[] } {
  try {
    const error = object(object(JSON.parse(text ?? ""))["error"]);
    requireText(error, "code", "message");
    const { code, message, details } = error as { code: string; message: string; details?: unknown };
    return { code, message: message.replace(/\.+$/, ""), details: Array.isArray(details) ? details : [] };
  } catch {
    return { code: "UNKNOWN", message: "no explanation was given", details: [] };
  }
}

function secondsOf(header: string | null): number | undefined {
  const seconds = Number(header ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}

function object(answer: unknown): Record<string, unknown> {
  if (typeof answer !== "object" || answer === null || Array.isArray(answer))
    throw new NotAnAnswer("not a JSON object");
  return answer as Record<string, unknown>;
}

function requireText(got: Record<string, unknown>, ...names: string[]): void {
  const missing = names.find((name) => typeof got[name] !== "string");
  if (missing) throw new NotAnAnswer(`${missing} is missing`);
}

function shown(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 50) ?? "undefined";
}
