/** The types of `Remit.request`: for each endpoint of the OpenAPI document, what it takes and what it answers. */

import type { paths } from "./api.js";

export type Method = "GET" | "PUT" | "POST" | "PATCH" | "DELETE";
export type Path<M extends Method> = {
  [P in keyof paths]: Lowercase<M> extends keyof paths[P] ? P : never;
}[keyof paths];

type Operation<M extends Method, P extends keyof paths> = paths[P][Lowercase<M> & keyof paths[P]];
type Of<O, Name extends string> = O extends { parameters: Record<Name, infer Given> } ? Given : never;

/** What a request takes: each part only if the endpoint has it. */
export type Request<M extends Method, P extends keyof paths> = RequestOptions &
  (Of<Operation<M, P>, "path"> extends never ? unknown : { path: Of<Operation<M, P>, "path"> }) &
  (Operation<M, P> extends { parameters: { query?: infer Query } } ? { query?: Query } : unknown) &
  (Operation<M, P> extends { requestBody: { content: { "application/json": infer Body } } }
    ? { body: Body }
    : Operation<M, P> extends { requestBody?: { content: { "application/json": infer Body } } }
      ? { body?: Body }
      : unknown);

export interface RequestOptions {
  /** Further headers, such as `Change-Reason`. */
  headers?: Readonly<Record<string, string>>;
  /** The version, as it was read, of the record to change; refused (412, for approvals 409) if it has changed since. */
  ifVersion?: number | string;
  /** Ends the request with `Interrupted`. */
  signal?: AbortSignal;
}

type Json<R> = R extends { content: { "application/json": infer Content } } ? Content : undefined;

/** What a successful answer contains. */
export type Result<M extends Method, P extends keyof paths> =
  Operation<M, P> extends { responses: infer R } ? Json<R[keyof R]> : never;
