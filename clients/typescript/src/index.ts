/**
 * Asks Remit before an AI agent's tool runs.
 *
 * `Remit` asks; its `guard` runs a tool only if it is allowed. Adapters for frameworks are separate modules, such as
 * `remit-client/ai-sdk`.
 */

export type { Approval, Decision } from "./answers.js";
export { folded, NotJson, snapshot, strictJson } from "./arguments.js";
export { type AuthorizeOptions, Remit, type RemitOptions } from "./client.js";
export {
  type Allowed,
  type Context,
  Enforcer,
  type EnforcerOptions,
  type Outcome,
  type Place,
  type Records,
  type RecordsOf,
} from "./enforcement.js";
export {
  ApprovalPending,
  Denied,
  forAgent,
  Interrupted,
  MalformedAnswer,
  NotAllowed,
  NotAnOutage,
  Refused,
  RemitError,
  Throttled,
  Unavailable,
} from "./errors.js";
export { Gate, type Known, told, type Verdict } from "./gate.js";
export type { Asked } from "./requests.js";
