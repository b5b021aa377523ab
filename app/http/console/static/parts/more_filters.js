// The filters of the log that are seldom needed, those in force, and what is said if nothing matches.
import "../styles.js";
import { AgentName, KeyName, policies, PolicyName } from "../names.js";
import { setParams } from "../url.js";
import { Fragment, html } from "../vendor/preact.js";
import { FilterField } from "./entries.js";
import { Empty } from "./loading.js";

const RULES = [
  "tool_grant",
  "tool_allowlist",
  "tool_denylist",
  "approval_required",
  "parameter_constraint",
  "parameter_schema",
  "rate_limit",
  "budget",
  "sequence",
  "pinned_request",
  "time_based",
  "denial_breaker",
];

/** @param {{filters: Record<string, string>}} props */
export function MoreFilters({ filters }) {
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) =>
    setParams({ [name]: event.target.value || null });
  return html`<div class="more">
      <label>Policy<select value=${filters.policy_id ?? ""} onChange=${set("policy_id")}><option value="">Any</option>${[...(policies.all?.values() ?? [])].map((each) => html`<option value=${each.id}>${each.name}</option>`)}</select></label>
      <label>Rule<select value=${filters.rule_type ?? ""} onChange=${set("rule_type")}><option value="">Any</option>${RULES.map((name) => html`<option>${name}</option>`)}</select></label>
      <label>Shadow policies<select value=${filters.shadow ?? ""} onChange=${set("shadow")}><option value="">Any result</option><option value="any">Would decide otherwise</option>
        ${[...(policies.all?.values() ?? [])].filter((each) => each.mode === "shadow").map((each) => html`<option value=${each.id}>${each.name} would</option>`)}</select></label>
      ${["Action", "Session", "User", "Subject"].map((name) => html`<label>${name}<${FilterField} name=${name.toLowerCase()} value=${filters[name.toLowerCase()]} placeholder="Any" /></label>`)}
      <label>Key<${FilterField} name="key_id" value=${filters.key_id} placeholder="Any; its id" /></label></div>`;
}

/** Those that are in force, each with a button that removes it. @param {{filters: Record<string, string>, names: string[]}} props */
export function InForce({ filters, names }) {
  return html`<div class="chips" role="group" aria-label="Filters in force">${names.map(
    (
      name,
    ) => html`<button type="button" class="chip" aria-label=${`Remove the filter ${name}`} onClick=${() => setParams({ [name]: null })}>
    ${label(name)} <b>${shown(name, filters[name])}</b> ×</button>`,
  )}</div>`;
}

/** @param {string} name */
const label = (name) =>
  ({ policy_id: "policy", rule_type: "rule", key_id: "key", shadow: "shadow", agent_id: "agent" })[name] ?? name;

/** @param {string} name @param {string} value */
function shown(name, value) {
  if (name === "policy_id" || (name === "shadow" && value !== "any"))
    return html`<${PolicyName} id=${value} link=${false} />`;
  if (name === "key_id") return html`<${KeyName} id=${value} />`;
  if (name === "agent_id") return html`<${AgentName} id=${value} />`;
  return html`<${Fragment}>${value}<//>`;
}

/** @param {{filters: Record<string, string>, names: string[], floor: string}} props */
export function Nothing({ filters, names, floor }) {
  const some = Object.keys(filters).length > 0;
  return html`<${Empty} icon="decisions" title=${some ? "Nothing matches" : "No decision yet"}>
    <p>${some ? "No entry of the log matches all of these filters." : "As soon as an agent asks whether it may call a tool, the answer appears here."}</p>
    ${floor && html`<p>Retention dropped entries before ${floor}.</p>`}
    ${some && html`<button type="button" onClick=${() => setParams(Object.fromEntries(names.map((name) => [name, null])))}>Remove all filters</button>`}<//>`;
}
