// A policy as a form, made from the schema of policies: every type of rule and every field of it.
import { authored } from "../draft.js";
import { resolve } from "../editor/json_schema.js";
import { Icon } from "../icons.js";
import { html } from "../vendor/preact.js";
import { here } from "./hours.js";
import { lacking } from "./lacking.js";
import { TEMPLATES } from "./rule_templates.js";
import { inWords, TYPES } from "./rule_words.js";
import { SchemaField } from "./schema_field.js";
import { Text } from "./text.js";

/** @typedef {import("../draft.js").Mark} Mark */

/** Fields that have their place and their words here; `mode` is chosen when the policy is saved. */
const PLACED = ["name", "kind", "priority", "mode", "rules"];

/** @param {{policy: any, set: (policy: any) => void, marks: Mark[], schema: any}} props */
export function PolicyForm({ policy, set, marks, schema }) {
  const kinds = ruleTypes(schema);
  const rules = Array.isArray(policy.rules) ? policy.rules : [];
  const change = (/** @type {string} */ name, /** @type {unknown} */ value) => {
    const next = { ...policy, [name]: value };
    if (value === undefined || value === "") delete next[name];
    set(next);
  };
  const setRule = (/** @type {number} */ index, /** @type {any} */ rule) =>
    change("rules", rule === null ? rules.toSpliced(index, 1) : rules.with(index, rule));
  const move = (/** @type {number} */ index, /** @type {number} */ by) =>
    change("rules", rules.toSpliced(index, 1).toSpliced(index + by, 0, rules[index]));
  const offered = (/** @type {string} */ type) =>
    [...kinds.keys()].filter(
      (each) => each === type || !NOT_IN[policy.kind === "guardrail" ? "guardrail" : "grant"].includes(each),
    );
  const isFenced = policy.kind !== "guardrail" && marks.some((mark) => FENCED.includes(mark.code ?? ""));
  const curable = (/** @type {any} */ rule, /** @type {number} */ index) =>
    (rule.type === "tool_allowlist" && isFenced) ||
    marks.some((mark) => mark.code === "grants_by_trick" && mark.path[1] === index);
  const of = (/** @type {string} */ name) => marks.filter((mark) => mark.path[0] === name && name !== "rules");
  return html`<div class="policy-form">
    <div class="card fields-row">
      <label class="grow">Name<input value=${policy.name ?? ""} onInput=${(/** @type {any} */ event) => change("name", event.target.value)} /><${Marks} marks=${of("name")} /></label>
      <label>Kind<select value=${policy.kind ?? "grant"} onChange=${(/** @type {any} */ event) => change("kind", event.target.value === "grant" ? undefined : event.target.value)}><option value="grant">grant: decides</option><option value="guardrail">guardrail: never allows</option></select><${Marks} marks=${of("kind")} /></label>
      ${policy.kind !== "guardrail" && html`<label class="narrow-field">Priority<input type="number" min="0" max="1000" value=${policy.priority ?? 0} onInput=${(/** @type {any} */ event) => change("priority", event.target.value === "" ? undefined : Number(event.target.value))} /><${Marks} marks=${of("priority")} /></label>`}
      ${authored()
        .filter(([name]) => !PLACED.includes(name))
        .map(
          ([name, field]) =>
            html`<${SchemaField} key=${name} root=${schema} schema=${field} value=${policy[name] ?? field.default} set=${(/** @type {unknown} */ value) => change(name, value === field.default ? undefined : value)} path=${[name]} marks=${marks} />`,
        )}
    </div>
    <h2>Rules</h2><${Marks} marks=${marks.filter((mark) => mark.path[0] === "rules" && mark.path.length === 1)} />
    ${rules.map(
      (/** @type {any} */ rule, /** @type {number} */ index) => html`<section class="card rule" key=${index}>
      <header><span class="rule-number">${index + 1}</span><select aria-label="Type of rule" value=${rule.type} onChange=${(/** @type {any} */ event) => setRule(index, fresh(schema, kinds, event.target.value, rule.tools))}>${offered(rule.type).map((type) => html`<option value=${type}>${TYPES[type] ? `${TYPES[type]} · ${type}` : type}</option>`)}</select><span class="spring"></span>
        ${curable(rule, index) && html`<button type="button" onClick=${() => setRule(index, asGrant(rule))}>Make it a tool_grant</button>`}
        <button type="button" class="quiet square" aria-label="Move up" disabled=${index === 0} onClick=${() => move(index, -1)}>↑</button><button type="button" class="quiet square" aria-label="Move down" disabled=${index === rules.length - 1} onClick=${() => move(index, 1)}>↓</button>
        <button type="button" class="quiet square" aria-label="Remove the rule" disabled=${rules.length === 1} onClick=${() => setRule(index, null)}><${Icon} name="close" /></button></header>
      <p class="muted small"><${Text} value=${words(schema, kinds.get(rule.type), rule, marks, index)} /></p><${Marks} marks=${marks.filter((mark) => mark.path[1] === index && mark.path[2] === "type")} />
      <${SchemaField} root=${schema} schema=${kinds.get(rule.type) ?? {}} value=${rule} set=${(/** @type {any} */ next) => setRule(index, next)} path=${["rules", index]} marks=${marks} leave=${["type"]} />
    </section>`,
    )}
    <div class="buttons start"><button type="button" onClick=${() => change("rules", [...rules, fresh(schema, kinds, policy.kind === "guardrail" ? "tool_denylist" : "tool_grant", [])])}><${Icon} name="plus" />Add a rule</button>
      <select class="add" aria-label="Add a rule like one of the examples" value="" onChange=${(
        /** @type {any} */ event,
      ) => {
        if (event.target.value) change("rules", [...rules, structuredClone(TEMPLATES[Number(event.target.value)][1])]);
        event.target.value = "";
      }}><option value="">+ like an example…</option>${TEMPLATES.map(([title, rule], index) => NOT_IN[policy.kind === "guardrail" ? "guardrail" : "grant"].includes(rule.type) || html`<option value=${index}>${title} · ${rule.type}</option>`)}</select></div></div>`;
}

/** Types that are not offered: those that such a policy cannot have, and an allowlist in a grant, which denies what other grants allow. */
const NOT_IN = { grant: ["tool_allowlist", "denial_breaker"], guardrail: ["tool_grant"] };
/** Warnings about an allowlist that was meant to add and not to fence. */
const FENCED = ["allowlist_shadows", "allowlists_disjoint", "never_decides"];

/** A grant of the rule's tools. @param {any} rule */
function asGrant({ tools, when, unless }) {
  const judged = (/** @type {any} */ { ifMissing, ...rest }) => rest;
  return { type: "tool_grant", tools, ...(when && { when: judged(when) }), ...(unless && { unless: judged(unless) }) };
}

/** @param {{marks: Mark[]}} props */
export const Marks = ({ marks }) =>
  marks.map(
    (mark) => html`<p class=${`small ${mark.warning ? "warned" : "error"}`}><${Text} value=${mark.message} /></p>`,
  );

/** What a rule says, once it is complete and not refused. @param {any} root @param {any} schema @param {any} rule @param {Mark[]} marks @param {number} index */
function words(root, schema, rule, marks, index) {
  const isRefused = marks.some((mark) => !mark.warning && mark.path[0] === "rules" && mark.path[1] === index);
  try {
    return isRefused || lacking(root, schema, rule).length ? "" : inWords(rule);
  } catch {
    return ""; // a value is none that its field takes; the service says so
  }
}

/** The schemas of rules by type. @param {any} schema @returns {Map<string, any>} */
function ruleTypes(schema) {
  const items = schema.$defs.PolicyEntry.properties.rules.items;
  const found = (items.anyOf ?? items.oneOf ?? [items]).map((/** @type {any} */ each) =>
    each.$ref ? resolve(schema, each.$ref) : each,
  );
  return new Map(
    found.map((/** @type {any} */ each) => [each.properties.type.enum?.[0] ?? each.properties.type.const, each]),
  );
}

/** A new rule with all that its type requires. @param {any} root @param {Map<string, any>} kinds @param {string} type @param {string[]} tools */
function fresh(root, kinds, type, tools) {
  const schema = kinds.get(type);
  return { ...blank(root, schema), type, tools };
}

/** The least value that a schema takes, as far as it says. Schemas may require themselves, so it ends at a depth. @param {any} root @param {any} given @param {number} [depth] @returns {any} */
export function blank(root, given, depth = 0) {
  const schema = (given?.$ref ? resolve(root, given.$ref) : given) ?? {};
  if (schema.const !== undefined) return schema.const;
  if (schema.format === "iana-time-zone") return here();
  if (schema.enum) return schema.enum[0];
  if (schema.properties && depth < 6)
    return Object.fromEntries(
      // Of fields of which one must be given, the first is the usual one.
      [schema, schema.oneOf?.[0], schema.anyOf?.[0]]
        .flatMap((/** @type {any} */ each) => each?.required ?? [])
        .map((/** @type {string} */ name) => [name, blank(root, schema.properties[name], depth + 1)]),
    );
  if (schema.anyOf) return blank(root, schema.anyOf[0], depth + 1);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "array") return [];
  if (type === "integer" || type === "number") return schema.minimum ?? 0;
  if (type === "boolean") return false;
  return type === "object" ? {} : "";
}
