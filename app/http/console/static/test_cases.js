// Tests and claims of policies as files have them: one made from a decision, and texts of YAML or JSON taken apart.
import { Exact, parse, pieces, write } from "./exact.js";
import { governing } from "./governing.js";
import { policies } from "./names.js";

/** @typedef {{tests: any[], never: any[], start?: string}} Tests */

const NAME = (/** @type {string} */ agent) => `remit.tests.${agent}`;

/** The tests that this tab of the browser keeps for an agent. @param {string} agent */
export const kept = (agent) => sessionStorage.getItem(NAME(agent)) ?? "";

/** @param {string} agent @param {string} text */
export const keep = (agent, text) => sessionStorage.setItem(NAME(agent), text);

/** A value of JSON as YAML: on one line, and with codes for what cannot be seen. @param {unknown} value */
function flow(value) {
  return pieces(
    write(value, 1).replace(/([[{]?)\n *([\]}]?)/g, (_, open, close) => open + (open || close ? "" : " ") + close),
  )
    .map((each) => {
      const code = each.text.slice(2);
      return !each.hidden ? each.text : code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code}`;
    })
    .join("");
}

/** Plain words as they are, anything else as JSON. @param {string} text */
const worded = (text) => (/^[A-Za-z][\w. -]*[\w]$/.test(text) && !WORDS.has(text) ? text : flow(text));

/** @type {Record<string, string>} */
const UNTESTABLE = {
  agent_suspended: "The agent was suspended. Tests judge policies, whatever the agent's status.",
  agent_revoked: "The agent was revoked. Tests judge policies, whatever the agent's status.",
  batch_refused: "Another call of its batch decided. A test has one call.",
  approvals_full: "Too many approvals were open. Tests have no approvals.",
};
const COUNTING = ["quota_full", "budget_spent", "too_many_denials", "sequence_forbidden"];

/** Whether a policy that governs the agent asks what people have approved before. @param {string} agent */
const remembers = (agent) => governing(agent).some((each) => /"approvedBefore":/.test(write(each.rules, 0)));

/** A decision as a test that wants it again: the text of one item of `tests`, or why there can be none.
 * @param {Entry} entry @returns {{text?: string, why?: string}} */
export function caseOf(entry) {
  if (entry.action !== "authorize")
    return { why: `The call attempted the action ${entry.action}; the calls of tests attempt authorize.` };
  if (entry.code && entry.code in UNTESTABLE) return { why: UNTESTABLE[entry.code] };
  const approved = entry.result === "allowed" && entry.approvalId;
  const result = approved ? "escalated" : String(entry.result);
  const said = write([entry.parameters, entry.context ?? {}], 0);
  const notes = [
    approved && "A person had approved this call. Tests have no approvals, so a person is asked.",
    result === "allowed" &&
      remembers(entry.agentId) &&
      "A policy of this agent asks what people have approved before. Tests remember nothing, so such a value counts as never approved.",
    /_not_pinned$/.test(entry.code ?? "") &&
      "A test begins with nothing pinned, so what was pinned in the session cannot be part of it.",
    entry.code &&
      COUNTING.includes(entry.code) &&
      "What was done before decided this. Add those calls under before: each test begins with empty counters.",
    entry.records?.length &&
      `Rules read ${flow(entry.records)}. Add under before the call whose result said so, with its records.`,
    /"\[REDACTED\]"|"beginning":|"request":\{"(length|hmac)":/.test(said) &&
      "The log redacts secrets and users' requests, and shortens long values: put the real ones in their place.",
  ].filter(Boolean);
  const decider = result === "allowed" || approved ? undefined : policies.find(entry.policyId)?.name;
  const lines = [
    `- name: ${worded(`${entry.toolName} is ${result}`.slice(0, 255))}`,
    ...notes.map((note) => `  # ${note}`),
    "  call:",
    `    tool: ${worded(entry.toolName)}`,
    `    parameters: ${flow(entry.parameters)}`,
    ...(entry.context && Object.keys(entry.context).length ? [`    context: ${flow(entry.context)}`] : []),
    `    at: ${flow(entry.timestamp)}`,
    `  want: ${decider ? `{result: ${result}, policy: ${flow(decider)}${entry.rule ? `, rule: ${entry.rule.type}` : ""}}` : result}`,
  ];
  return { text: `${lines.map((line) => `  ${line}`).join("\n")}\n` };
}

/** The text with one more test: at its end or before its claims if that is where the tests end, else all of it written anew.
 * @param {string} text @param {string} item @returns {Promise<string>} */
export async function withCase(text, item) {
  if (!text.trim()) return `tests:\n${item}`;
  const { tests = [], ...rest } = await document(text);
  const one = (await document(`tests:\n${item}`)).tests?.[0];
  const margin = /^( *)- /m.exec(text)?.[1] ?? "  ";
  const added = item.replace(/^ {2}/gm, margin);
  for (const longer of [`${text.trimEnd()}\n${added}`, text.replace(/^never:/m, () => `${added}never:`)]) {
    const found = await document(longer).catch(() => null);
    if (found && write(found) === write({ ...(await document(text)), tests: [...tests, one] })) return longer;
  }
  return write({ ...rest, tests: [...tests, one] });
}

/** The tests and claims in a text, ready to be sent. Raises an Error that says what is wrong. @param {string} text @returns {Promise<Tests>} */
export async function readTests(text) {
  const { tests = [], never = [], start } = await document(text);
  return { tests, never, ...(start !== undefined && { start }) };
}

/** @param {string} text @returns {Promise<{tests?: any[], never?: any[], [name: string]: any}>} */
async function document(text) {
  const found = await yaml(text).catch((error) => {
    // JSON allows a few strings and indents that YAML does not.
    try {
      if (!/duplicated/.test(error.message)) return parse(text);
    } catch {
      /* neither: say what YAML says */
    }
    throw error;
  });
  const whole = /** @type {any} */ (Array.isArray(found) ? { tests: found } : found);
  const lists = [whole?.tests, whole?.never].filter((each) => each !== undefined);
  if (!lists.length || !lists.every(Array.isArray))
    throw new Error(
      "There is no list of tests. It begins with “tests:”, and each test with “- name:”; claims begin with “never:”.",
    );
  return whole;
}

const WORDS = new Map(
  /** @type {[string, unknown][]} */ ([
    ...["", "~", "null", "Null", "NULL"].map((word) => [word, null]),
    ...["true", "True", "TRUE"].map((word) => [word, true]),
    ...["false", "False", "FALSE"].map((word) => [word, false]),
  ]),
);
const NUMBER = /^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$|^0o[0-7]+$|^0x[0-9a-fA-F]+$/;

/** @param {string} word */
function number(word) {
  const digits = word.replace(/^\+/, "").replace(/^(-?)0+(?=\d)/, "$1");
  return /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(digits) && String(Number(digits)) !== digits
    ? new Exact(digits)
    : Number(word);
}

/** As the service reads files: the core schema of YAML 1.2, so that `no` and dates are text, and numbers keep their digits. @param {string} text */
async function yaml(text) {
  const { defineScalarTag, FAILSAFE_SCHEMA, load, NOT_RESOLVED } = await import("./vendor/yaml.js");
  const plain = defineScalarTag("tag:yaml.org,2002:plain", {
    implicit: true,
    identify: () => false,
    resolve: (word) => (WORDS.has(word) ? WORDS.get(word) : NUMBER.test(word) ? number(word) : NOT_RESOLVED),
  });
  try {
    return load(text, { schema: FAILSAFE_SCHEMA.withTags(plain) });
  } catch (error) {
    const { reason, mark, message } = /** @type {any} */ (error);
    throw new Error(mark ? `Line ${mark.line + 1}: ${reason}` : (reason ?? message));
  }
}
