// Policies by owner, in the order in which they are evaluated, with their rules in words.
import "../styles.js";
import { Icon } from "../icons.js";
import { AgentName, agents, policies } from "../names.js";
import { Empty, Later, Problem, Skeleton } from "../parts/loading.js";
import { rulesInWords } from "../parts/rule_words.js";
import { Stops } from "../parts/stops.js";
import { ordered } from "../parts/table.js";
import { Pill, Tag, Text, Time } from "../parts/text.js";
import { lacks } from "../session.js";
import { param, setParams, to } from "../url.js";
import { html, useEffect } from "../vendor/preact.js";

const COLUMNS = [
  { name: "Name", by: (/** @type {Policy} */ row) => row.name },
  { name: "Kind", by: (/** @type {Policy} */ row) => row.kind },
  { name: "Priority", by: (/** @type {Policy} */ row) => (row.kind === "grant" ? Number(row.priority) : -1) },
  { name: "Changed", by: (/** @type {Policy} */ row) => row.updatedAt },
];

export function Screen() {
  useEffect(() => {
    policies.look();
    agents.all;
  }, []);
  if (!policies.all)
    return html`<div class="page"><h1>Policies</h1>${policies.error ? html`<${Problem} error=${policies.error} retry=${policies.refresh} />` : html`<${Skeleton} />`}</div>`;
  const text = param("q").toLowerCase();
  const shown = [...policies.all.values()].filter(
    (each) =>
      !text ||
      `${each.name} ${each.key ?? ""} ${each.group ?? ""} ${agents.find(each.agentId)?.name ?? ""} ${rulesInWords(each).join(" ")}`
        .toLowerCase()
        .includes(text),
  );
  const [rows, sorts] = ordered(shown, COLUMNS);
  /** @type {Map<string, Policy[]>} */
  const owners = new Map();
  for (const each of rows === shown ? shown : []) {
    const owner = each.agentId ? `agent ${each.agentId}` : each.group ? `group ${each.group}` : "";
    owners.set(owner, [...(owners.get(owner) ?? []), each]);
  }
  const order = (/** @type {string} */ owner) => (owner === "" ? 0 : owner.startsWith("group") ? 1 : 2);
  const sorted = [...owners].sort(([a], [b]) => order(a) - order(b));
  const why = lacks("policies");
  return html`<div class="page"><div class="head"><h1>Policies</h1><span class="spring"></span>${why ? html`<button type="button" class="primary" disabled title=${why}>New policy</button>` : html`<a class="button primary-link" href=${to("policies/new")}><${Icon} name="plus" />New policy</a>`}</div>
    <${Stops} /><${Later} load=${() => import("../parts/waiting_reviews.js")} name="ReviewsList" waits />
    <div class="chips"><input type="search" data-filter aria-label="Filter" placeholder="Name, owner, tool or rule" value=${param("q")} onInput=${(/** @type {any} */ event) => setParams({ q: event.target.value })} />${sorts}</div>
    ${!shown.length && html`<${Empty} icon="policies" title=${text ? "Nothing matches" : "No policy yet"}><p>${text ? "" : "Without a policy every call is denied. The first one allows some tools for one agent."}</p><//>`}
    ${sorted.map(
      ([
        owner,
        list,
      ]) => html`<section class="stack"><h2 class="owner">${owner === "" ? "The whole workspace" : owner.startsWith("group ") ? `Group ${owner.slice(6)}` : html`<${AgentName} id=${owner.slice(6)} link />`}</h2>
      <div class="list">${list.map((each) => html`<${Item} key=${each.id} policy=${each} />`)}</div></section>`,
    )}
    ${rows !== shown && html`<div class="list">${rows.map((each) => html`<${Item} key=${each.id} policy=${each} owned />`)}</div>`}</div>`;
}

/** owned: says whose it is. @param {{policy: Policy, owned?: boolean}} props */
function Item({ policy, owned = false }) {
  const owner = policy.agentId
    ? html`<${AgentName} id=${policy.agentId} />`
    : policy.group
      ? `group ${policy.group}`
      : "workspace";
  return html`<a class="item link-item" href=${to(`policies/${policy.id}`)}><header><b><${Text} value=${policy.name} /></b>${owned && html`<span class="small muted">${owner}</span>`}
        <${Tag}>${policy.kind}<//>${policy.kind === "grant" && html`<${Tag}>priority ${policy.priority}<//>`}${policy.mode === "shadow" && html`<${Pill} is="shadow" />`}${!policy.enabled && html`<${Pill} is="off" />`}${policy.managedBy && html`<${Tag} title=${`Managed by ${policy.managedBy}`}>files<//>`}
        <span class="spring"></span><span class="small muted">v${policy.version} · <${Time} at=${policy.updatedAt} /></span></header>
        <ul class="words">${rulesInWords(policy)
          .slice(0, 6)
          .map(
            (words) => html`<li><${Text} value=${words} /></li>`,
          )}${policy.rules.length > 6 && html`<li class="muted">and ${policy.rules.length - 6} more</li>`}</ul></a>`;
}
