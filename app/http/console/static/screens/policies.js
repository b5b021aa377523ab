// Policies by owner, in the order in which they are evaluated, with their rules in words.
import "../styles.js";
import { Icon } from "../icons.js";
import { AgentName, agents, policies } from "../names.js";
import { Empty, Problem, Skeleton } from "../parts/loading.js";
import { rulesInWords } from "../parts/rule_words.js";
import { Stops } from "../parts/stops.js";
import { Pill, Tag, Text, Time } from "../parts/text.js";
import { lacks } from "../session.js";
import { param, setParams, to } from "../url.js";
import { html, useEffect } from "../vendor/preact.js";

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
  /** @type {Map<string, Policy[]>} */
  const owners = new Map();
  for (const each of shown) {
    const owner = each.agentId ? `agent ${each.agentId}` : each.group ? `group ${each.group}` : "";
    owners.set(owner, [...(owners.get(owner) ?? []), each]);
  }
  const order = (/** @type {string} */ owner) => (owner === "" ? 0 : owner.startsWith("group") ? 1 : 2);
  const sorted = [...owners].sort(([a], [b]) => order(a) - order(b));
  const why = lacks("policies");
  return html`<div class="page"><div class="head"><h1>Policies</h1><span class="spring"></span>${why ? html`<button type="button" class="primary" disabled title=${why}>New policy</button>` : html`<a class="button primary-link" href=${to("policies/new")}><${Icon} name="plus" />New policy</a>`}</div>
    <${Stops} />
    <div class="chips"><input type="search" data-filter aria-label="Filter" placeholder="Name, owner, tool or rule" value=${param("q")} onInput=${(/** @type {any} */ event) => setParams({ q: event.target.value })} /></div>
    ${!shown.length && html`<${Empty} icon="policies" title=${text ? "Nothing matches" : "No policy yet"}><p>${text ? "" : "Without a policy every call is denied. The first one allows some tools for one agent."}</p><//>`}
    ${sorted.map(
      ([
        owner,
        list,
      ]) => html`<section class="stack"><h2 class="owner">${owner === "" ? "The whole workspace" : owner.startsWith("group ") ? `Group ${owner.slice(6)}` : html`<${AgentName} id=${owner.slice(6)} link />`}</h2>
      <div class="list">${list.map(
        (
          each,
        ) => html`<a class="item link-item" href=${to(`policies/${each.id}`)} key=${each.id}><header><b><${Text} value=${each.name} /></b>
        <${Tag}>${each.kind}<//>${each.kind === "grant" && html`<${Tag}>priority ${each.priority}<//>`}${each.mode === "shadow" && html`<${Pill} is="shadow" />`}${!each.enabled && html`<${Pill} is="off" />`}${each.managedBy && html`<${Tag} title=${`Managed by ${each.managedBy}`}>files<//>`}
        <span class="spring"></span><span class="small muted">v${each.version} · <${Time} at=${each.updatedAt} /></span></header>
        <ul class="words">${rulesInWords(each)
          .slice(0, 6)
          .map(
            (words) => html`<li><${Text} value=${words} /></li>`,
          )}${each.rules.length > 6 && html`<li class="muted">and ${each.rules.length - 6} more</li>`}</ul></a>`,
      )}</div></section>`,
    )}</div>`;
}
