// Rules in words, for lists; the service's own words about a call are in explanations and tool listings.
import { write } from "../exact.js";
import { duration } from "../time.js";
import { runs } from "./hours.js";

/** What a type of rule does, for those who choose one. @type {Record<string, string>} */
export const TYPES = {
  tool_grant: "Grants tools",
  tool_allowlist: "Only these tools",
  tool_denylist: "Never these tools",
  approval_required: "A person must approve",
  parameter_constraint: "Bounds for what is passed",
  parameter_schema: "What is passed matches a schema",
  rate_limit: "So many calls at most",
  budget: "So much of an amount at most",
  sequence: "Only after, or never after, other calls",
  pinned_request: "Only with the request that was pinned",
  time_based: "Only at some times",
  denial_breaker: "Stops who is denied too often",
};

/** @param {{rules: Rule[]}} policy */
export const rulesInWords = (policy) => policy.rules.map(inWords);

/** One rule in a sentence. @param {any} rule */
export function inWords(rule) {
  const some = rule.tools.includes("*") ? "every tool" : rule.tools.join(", ");
  const else_ = rule.effect === "escalate" ? "; else a person is asked" : "";
  const when = [rule.when && `if ${circumstances(rule.when)}`, rule.unless && `unless ${circumstances(rule.unless)}`]
    .filter(Boolean)
    .join(", ");
  const said = {
    tool_grant: () => `Grants ${some}`,
    tool_allowlist: () => `Only ${some}`,
    tool_denylist: () => `Never ${some}`,
    approval_required: () => `A person must approve ${some}`,
    parameter_constraint: () =>
      `${some}: ${[constraints({ ...rule.parameters, ...prefixed(rule.context) }), rule.record && recordInWords(rule.record)].filter(Boolean).join("; ")}`,
    parameter_schema: () => `${some}: parameters match a schema`,
    rate_limit: () => `${some}: at most ${rule.rateLimit.maxCalls} calls ${span(rule.rateLimit)}${per(rule.rateLimit)}`,
    budget: () =>
      `${some}: at most ${rule.budget.max} of ${rule.budget.parameter ?? `context.${rule.budget.context}`} ${span(rule.budget)}${per(rule.budget)}`,
    sequence: () =>
      `${some}: ${[rule.sequence.forbiddenAfter && `not after ${rule.sequence.forbiddenAfter.join(", ")}`, rule.sequence.requiresBefore && `only after ${rule.sequence.requiresBefore.join(", ")}${rule.sequence.once ? ", for each call anew" : ""}`].filter(Boolean).join("; ")}`,
    pinned_request: () => `${some}: only with the request that was pinned for the session`,
    time_based: () => `${some}: ${hours(rule.timeWindow)}`,
    denial_breaker: () =>
      `${some}: ${rule.denialBreaker.maxDenials} denials in ${duration(Number(rule.denialBreaker.windowSeconds))} ${{ suspend: "suspend the agent", deny: "deny its calls", escalate: "escalate its calls" }[/** @type {string} */ (rule.denialBreaker.action)]}${per(rule.denialBreaker)}`,
  }[/** @type {string} */ (rule.type)];
  return `${said ? said() : rule.type}${else_}${when ? `; ${when}` : ""}`;
}

/** @param {{windowSeconds?: number | "forever", calendar?: string, timezone?: string}} limit */
const span = (limit) =>
  limit.windowSeconds === "forever"
    ? "in all"
    : limit.calendar
      ? `a ${limit.calendar} (${limit.timezone ?? "UTC"})`
      : `in ${duration(Number(limit.windowSeconds))}`;

/** @param {{per?: string[]}} limit */
const per = (limit) => (limit.per?.length ? ` for each ${limit.per.join(" and ")}` : "");

/** @param {Record<string, any> | undefined} context */
const prefixed = (context) =>
  Object.fromEntries(Object.entries(context ?? {}).map(([name, each]) => [`context ${name}`, each]));

/** @param {any} given */
const circumstances = (given) => constraints({ ...given.parameters, ...prefixed(given.context) });

/** @param {Record<string, any>} named */
function constraints(named) {
  return Object.entries(named)
    .map(([name, each]) => `${name === "**" ? "any value" : name} ${constraint(each)}`)
    .join(", ");
}

/** @param {{of: string, from: string[], fields: Record<string, any>}} record */
const recordInWords = (record) =>
  `${record.from.join(" or ")} must have reported of ${record.of} that ${constraints(record.fields)}`;

/** @type {Record<string, (value: any) => string>} */
const TESTS = {
  min: (value) => `≥ ${value}`,
  max: (value) => `≤ ${value}`,
  above: (value) => `> ${value}`,
  below: (value) => `< ${value}`,
  enum: (value) =>
    `is ${value.length === 1 ? write(value[0], 0) : `one of ${value.map((/** @type {unknown} */ each) => write(each, 0)).join(", ")}`}`,
  notEnum: (value) => `is none of ${value.map((/** @type {unknown} */ each) => write(each, 0)).join(", ")}`,
  regex: (value) => `matches ${value}`,
  notRegex: (value) => `does not match ${value}`,
  notKind: (value) => `has no ${value.join(" or ")} in it`,
  absent: () => "is absent",
  path: (value) =>
    [
      value.under &&
        `is under ${value.under.map(directory).join(", ")}${value.ignoreCase ? " in any letter case" : ""}`,
      value.notAmong && `has no ${value.notAmong.join(", ")}`,
    ]
      .filter(Boolean)
      .join(" and "),
  command: (value) =>
    [
      value.allow && `runs only ${value.allow.map(entry).join(", ")}`,
      value.deny && `never runs ${value.deny.map(entry).join(", ")}`,
    ]
      .filter(Boolean)
      .join(" and "),
  host: (value) =>
    [
      (value.in || value.networks) && `is at ${[value.in ?? [], value.networks ?? []].flat().join(", ")}`,
      value.notNetworks && `is an address outside ${value.notNetworks.join(", ")}`,
    ]
      .filter(Boolean)
      .join(" and "),
  emailDomain: (value) => `is mail at ${value.in.join(", ")}`,
  cidr: (value) => `is in ${value.in.join(", ")}`,
  type: (value) => `is a ${[value].flat().join(" or ")}`,
  minLength: (value) => `has ≥ ${value} characters`,
  maxLength: (value) => `has ≤ ${value} characters`,
  minItems: (value) => `has ≥ ${value} items`,
  maxItems: (value) => `has ≤ ${value} items`,
  except: (value) => `but in ${value.join(", ")}`,
  fromRequest: (value) => `stands in the user's request${value === "text" ? ", in any letter case" : ""}`,
  approvedBefore: (value) =>
    `was approved before${value.of ? ` for the same ${value.of}` : ""} within ${duration(Number(value.withinSeconds))}${value.in ? ` of the ${value.in}` : ""}`,
  contains: (value) => `contains ${write(value, 0)}`,
  equals: (value) => `equals ${operand(value)}`,
  atMost: (value) => `≤ ${operand(value)}`,
  atLeast: (value) => `≥ ${operand(value)}`,
};

/** The programs of an entry of `command`, with the words that must follow. @param {{run: string | string[], first?: string | string[], second?: string | string[]}} value */
const entry = (value) =>
  [value.run, value.first, value.second]
    .filter(Boolean)
    .map((words) => [words].flat().join("|"))
    .join(" ");

/** @param {string | {context: string}} value */
const directory = (value) => (typeof value === "string" ? value : `context ${value.context}`);

/** @param {{parameter?: string, context?: string}} value */
const operand = (value) => value.parameter ?? `context ${value.context}`;

/** @param {Record<string, unknown>} tests */
function constraint(tests) {
  const said = Object.entries(tests)
    .filter(([name]) => name in TESTS)
    .map(([name, value]) => TESTS[name](value));
  return said.join(" and ") || (tests.required === false ? "may be missing" : "is given");
}

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** @param {{allowedHours?: number[], allowedDays?: number[], windows?: {days?: number[], from: string, to: string}[], except?: string[], timezone?: string}} window */
function hours(window) {
  const open = window.windows
    ? window.windows.map(({ days, from, to }) => `${daysOf(days)}, ${from}–${to}`).join("; ")
    : `${daysOf(window.allowedDays)}${window.allowedHours ? `, ${spans(window.allowedHours.map(Number))}` : ""}`;
  return `${open}${window.except ? `; not on ${window.except.join(", ")}` : ""} (${window.timezone ?? "UTC"})`;
}

/** @param {number[] | undefined} days */
const daysOf = (days) => (days ? days.map((day) => DAYS[Number(day)]).join(" ") : "every day");

/** "9–17 h" for hours that follow each other. @param {number[]} given */
const spans = (given) =>
  runs(given)
    .map(([from, to]) => `${from}–${to} h`)
    .join(", ");
