/** How a request looks on the wire. */

import { snapshot, strictJson } from "./arguments.js";
import type { Context } from "./enforcement.js";
import type { RequestOptions } from "./typed.js";

/** One call of a batch. */
export interface Asked {
  agent: string;
  tool: string;
  /** As `snapshot` takes them, or a JSON text. */
  parameters?: unknown;
  context?: Context;
  action?: string;
}

/**
 * A request; `read` turns the answer's JSON into its result. longerMs: how much longer than usual it may take. retries:
 * as the client's, if that is more.
 */
export interface Sending<T> extends RequestOptions {
  method: string;
  path: string;
  read: (json: unknown) => T;
  query?: object;
  body?: unknown;
  longerMs?: number;
  retries?: number;
  idempotencyKey?: string | undefined;
}

export function bodyOf({ agent, tool, parameters, context, action }: Asked): Record<string, unknown> {
  const judged = typeof parameters === "string" ? strictJson(parameters) : snapshot(parameters ?? {});
  const body: Record<string, unknown> = { agent_id: agent, tool_name: tool, parameters: judged };
  if (context !== undefined) body["context"] = snapshot(context);
  if (action !== undefined) body["action"] = action;
  return body;
}

export function headersOf({ headers, ifVersion, idempotencyKey }: Sending<unknown>): Record<string, string> {
  const given: Record<string, string> = { ...headers };
  if (ifVersion !== undefined) {
    if (!/^[!#-~]*$/.test(String(ifVersion))) {
      throw new TypeError("A version is a number, or what an ETag shows between its quotes");
    }
    given["if-match"] = `"${ifVersion}"`;
  }
  if (idempotencyKey !== undefined) given["idempotency-key"] = idempotencyKey;
  return given;
}

export function queryOf(query: object | undefined): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  return given.length
    ? `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`
    : "";
}

/** A name, quoted as one path segment: its slashes and dots cannot lead elsewhere. */
export function segment(name: string): string {
  const quoted = encodeURIComponent(name);
  if (/^\.*$/.test(quoted)) throw new TypeError(`"${name}" names nothing that could be in a path`);
  return quoted;
}

export function baseOf(url: string): string {
  const parts = URL.canParse(url) ? new URL(url) : undefined;
  if (!parts || !["http:", "https:"].includes(parts.protocol)) {
    throw new TypeError("The URL of Remit must be http://host:port or https://host");
  }
  if (parts.username || parts.password || parts.search || parts.hash) {
    throw new TypeError("The URL of Remit must not contain a user, password, query or fragment; pass the key as key");
  }
  return url.replace(/\/+$/, "");
}

export function environment(name: string): string | undefined {
  return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name];
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
