// A proposal as a file with what each rule was made from, or as policies in shadow mode.
import { pieces, write } from "./exact.js";

/** @typedef {{value: string, units: number, entry: string}} ProposedValue */
/** @typedef {{path: string, calls: number, units: number, form: string, examples: ProposedValue[], leftOut: ProposedValue[]}} Evidence */
/** @typedef {{name: string, use: string, calls: number, units: number, why: string | null}} ProposedTool */
/** @typedef {{allowed: number, escalated: number, denied: number}} Counts */
/** @typedef {{calls: number, units: number, sessions: number, unnamed: number, failed: number, sessionsLeftOut: number, callsLeftOut: number, unreadable: number}} Learned */
/** @typedef {{calls: number, kinds: number, allowed: number, examples: {kind: string, tool: string, parameters: string}[]}} Hostile */
/** @typedef {{kind: string, tool: string, calls: number, units: number, meaning: {flips: any[], limits: any[]}}} Change */
/** @typedef {{from: string, to: string, changes: Change[] | null, policies: any[], evidence: Evidence[], tools: ProposedTool[], learned: Learned, replay: Counts, unseen: Counts | null, hostile: Hostile, warnings: string[]}} Proposal */

const SHADOW_PRIORITY = 1000;
const ENTRIES = 3;

/** A number with what it counts. @param {number} number @param {string} one */
export const counted = (number, one) =>
  `${Number(number).toLocaleString("en")} ${one}${Number(number) === 1 ? "" : "s"}`;

/** What a rule and each of its constraints were made from. @param {Proposal} proposal @param {number} policy @param {number} rule */
export function evidenceOf({ evidence }, policy, rule) {
  const path = `policies[${policy}].rules[${rule}]`;
  return evidence.filter((each) => each.path === path || each.path.startsWith(`${path}.`));
}

/** The part of a rule that the evidence is about, "" for all of it. @param {Evidence} evidence */
export const partOf = (evidence) => evidence.path.split(".parameters.").slice(1).join(".parameters.");

/** The policies so that divergence counts every call that they would answer otherwise: above all others, and with a
 * guardrail that denies what none of them grants. They change no answer, and have names of their own: policies that
 * are enforced under those of the proposal would become shadows.
 * @param {Proposal} proposal */
export function inShadow({ policies, tools }) {
  const known = tools.filter((each) => each.use !== "unknown").map((each) => each.name);
  const fence = {
    name: "no other tool",
    kind: "guardrail",
    rules: [{ type: "tool_allowlist", tools: known }],
  };
  const shadow = { priority: SHADOW_PRIORITY, mode: "shadow" };
  return [...policies, fence].map((each) => ({ ...each, name: `Proposed: ${each.name}`, ...shadow }));
}

/** The proposal as a policy file, a comment above each rule. @param {Agent} agent @param {Proposal} proposal */
export function asFile(agent, proposal) {
  const { name, alias, description, groups } = agent;
  const type = agent.type === "agent" ? "" : agent.type;
  const said = Object.entries({ name, alias, description, groups, type }).filter(([, value]) => value?.length);
  const lines = [`agent: ${write(Object.fromEntries(said), 0)}`, "policies:"];
  proposal.policies.forEach(({ rules, ...fields }, policy) => {
    Object.entries(fields).forEach(([field, value], at) =>
      lines.push(`  ${at ? " " : "-"} ${field}: ${write(value, 0)}`),
    );
    lines.push("    rules:");
    rules.forEach((/** @type {unknown} */ rule, /** @type {number} */ place) => {
      for (const each of evidenceOf(proposal, policy, place)) lines.push(...comments(each, proposal));
      lines.push(`      - ${write(rule, 0)}`);
    });
  });
  return `${lines.join("\n")}\n`;
}

/** @param {Evidence} evidence @param {Proposal} proposal */
function comments(evidence, { tools }) {
  const part = partOf(evidence);
  if (part && !evidence.leftOut.length) return [];
  const made = part
    ? `${part}: ${evidence.form}`
    : `${counted(evidence.calls, "call")}, ${counted(evidence.units, "user")}`;
  const example = !part && evidence.examples.length ? `, e.g. entry ${evidence.examples[0].entry}` : "";
  const some = evidence.leftOut.slice(0, ENTRIES).map((each) => `${each.value} (entry ${each.entry})`);
  const more = evidence.leftOut.length > ENTRIES ? ", …" : "";
  const unseen = evidence.form === "marked" ? tools.filter((each) => each.use === "unseen") : [];
  const never = unseen.length ? `; never called: ${unseen.map((each) => each.name).join(", ")}` : "";
  const text = `${made}${example}${some.length ? `; left out: ${some.join(", ")}${more}` : ""}${never}`;
  // Nothing that was written in a call may end the comment or hide in it.
  const shown = pieces(text).map((each) => each.text);
  return [`      # ${shown.join("").replace(/[\r\n\u0085\u2028\u2029]/g, " ")}`];
}
