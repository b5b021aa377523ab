// The filters of the log, kept in the address.
import { agents, policies, tools } from "../names.js";
import { setParams } from "../url.js";
import { Fragment, html, useState } from "../vendor/preact.js";
import { AgentName, KeyName, PolicyName } from "./names.js";

const MORE = ["action", "rule_type", "policy_id", "key_id", "session", "user", "shadow", "from", "to"];
export const FILTERS = ["result", "agent_id", "tool_name", ...MORE];
const RULES = ["tool_allowlist", "tool_denylist", "approval_required", "parameter_constraint", "parameter_schema", "rate_limit", "budget", "sequence", "time_based", "denial_breaker"];

/** @param {{filters: Record<string, string>, all: boolean, setAll: (all: boolean) => void}} props */
export function Filters({ filters, all, setAll }) {
  const [more, setMore] = useState(false);
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setParams({ [name]: event.target.value || null });
  const sorted = [...(agents.all?.values() ?? [])].sort((a, b) => a.name.localeCompare(b.name));
  const given = MORE.filter((name) => filters[name]);
  return html`<div class="filters">
    <div class="chips" role="group" aria-label="Filters">
      ${["allowed", "escalated", "denied"].map((result) => html`<button type="button" class="chip" aria-pressed=${filters.result === result}
        onClick=${() => setParams({ result: filters.result === result ? null : result })}><i class=${`dot ${result}`}></i>${result}</button>`)}
      <select aria-label="Agent" data-filter value=${filters.agent_id ?? ""} onChange=${set("agent_id")}><option value="">Every agent</option>
        ${sorted.map((each) => html`<option value=${each.id}>${each.name}</option>`)}
        ${filters.agent_id && !agents.find(filters.agent_id) && html`<option value=${filters.agent_id}>${filters.agent_id}</option>`}</select>
      <input aria-label="Tool" list="tool-names" placeholder="Every tool" value=${filters.tool_name ?? ""} onChange=${set("tool_name")} />
      <datalist id="tool-names">${[...(tools.all?.keys() ?? [])].map((name) => html`<option value=${name} />`)}</datalist>
      <button type="button" class="quiet" aria-expanded=${more} onClick=${() => setMore(!more)}>${more ? "Fewer filters" : "More filters"}</button>
      <label class="check"><input type="checkbox" checked=${all} onChange=${(/** @type {any} */ event) => setAll(event.target.checked)} /> Approvals and outcomes</label>
    </div>
    ${more && html`<div class="more">
      <label>Policy<select value=${filters.policy_id ?? ""} onChange=${set("policy_id")}><option value="">Any</option>${[...(policies.all?.values() ?? [])].map((each) => html`<option value=${each.id}>${each.name}</option>`)}</select></label>
      <label>Rule<select value=${filters.rule_type ?? ""} onChange=${set("rule_type")}><option value="">Any</option>${RULES.map((name) => html`<option>${name}</option>`)}</select></label>
      <label>Shadow policies<select value=${filters.shadow ?? ""} onChange=${set("shadow")}><option value="">Any result</option><option value="any">Would decide otherwise</option>
        ${[...(policies.all?.values() ?? [])].filter((each) => each.mode === "shadow").map((each) => html`<option value=${each.id}>${each.name} would</option>`)}</select></label>
      ${["Action", "Session", "User"].map((name) => html`<label>${name}<input value=${filters[name.toLowerCase()] ?? ""} onChange=${set(name.toLowerCase())} placeholder="Any" /></label>`)}
      <label>Key<input value=${filters.key_id ?? ""} onChange=${set("key_id")} placeholder="Any; its id" /></label>
      <label>From (UTC)<input value=${filters.from ?? ""} onChange=${set("from")} placeholder="2026-11-23T12:00" /></label>
      <label>To (UTC)<input value=${filters.to ?? ""} onChange=${set("to")} placeholder="now" /></label></div>`}
    ${given.length > 0 && html`<div class="chips" role="group" aria-label="Filters in force">${given.map((name) => html`<button type="button" class="chip" aria-label=${`Remove the filter ${name}`} onClick=${() => setParams({ [name]: null })}>
      ${label(name)} <b>${shown(name, filters[name])}</b> ×</button>`)}</div>`}
  </div>`;
}

/** @param {string} name */
const label = (name) => ({ policy_id: "policy", rule_type: "rule", key_id: "key", shadow: "shadow", agent_id: "agent" })[name] ?? name;

/** @param {string} name @param {string} value */
function shown(name, value) {
  if (name === "policy_id" || (name === "shadow" && value !== "any")) return html`<${PolicyName} id=${value} link=${false} />`;
  if (name === "key_id") return html`<${KeyName} id=${value} />`;
  if (name === "agent_id") return html`<${AgentName} id=${value} />`;
  return html`<${Fragment}>${value}<//>`;
}
