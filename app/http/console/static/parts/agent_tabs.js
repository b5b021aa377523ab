// The tabs of an agent's page.
import "../styles.js";
import { get } from "../api.js";
import { useFeed } from "../decisions_feed.js";
import { governing } from "../governing.js";
import { policies, tools } from "../names.js";
import { can } from "../session.js";
import { duration } from "../time.js";
import { param, setParams, to } from "../url.js";
import { html, useEffect, useState } from "../vendor/preact.js";
import { Entries } from "./entries.js";
import { Empty, Later, Problem, Skeleton } from "./loading.js";
import { Quota } from "./quota.js";
import { useRead } from "./read.js";
import { rulesInWords } from "./rule_words.js";
import { ConsequenceTag, Pill, Tag, Text, Value } from "./text.js";

/** @param {{agent: Agent}} props */
export function AgentTools({ agent }) {
  const read = useRead(
    `tools ${agent.id} ${agent.version}`,
    async (signal) =>
      /** @type {Access[]} */ ((await get(`/v1/agents/${agent.id}/tools`, { limit: 1000 }, signal)).data.tools),
  );
  const [text, setText] = useState("");
  if (read.error && !read.data) return html`<${Problem} error=${read.error} retry=${read.reload} />`;
  if (!read.data || !(tools.all || tools.error)) return html`<${Skeleton} />`;
  if (!read.data.length)
    return html`<${Empty} icon="catalog" title="No tool is known yet"><p>Import the answer of an MCP server's <code>tools/list</code> in the <a href=${to("catalog")}>catalogue</a>, or let the agent ask for a call.</p>${policies.all && !governing(agent.id, agent.groups).length && html`<p>No policy governs this agent, so every call is denied. <a href=${to("policies/new", { agent: agent.id })}>Write its first policy</a></p>`}<//>`;
  const shown = read.data.filter((each) => each.name.toLowerCase().includes(text.toLowerCase()));
  const counts = ["allowed", "conditional", "escalated", "denied"].map((status) => [
    status,
    /** @type {Access[]} */ (read.data).filter((each) => each.status === status).length,
  ]);
  return html`<div class="chips"><input type="search" data-filter aria-label="Filter tools" placeholder="Filter tools" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} />
      ${counts.map(([status, count]) => html`<span class="muted small"><${Pill} is=${status} /> ${count}</span>`)}</div>
    <div class="list">${shown.map(
      (
        tool,
      ) => html`<section class="item"><header><code><${Text} value=${tool.name} /></code><${Pill} is=${tool.status} />${!tool.catalogued && html`<${Tag} title="Known only from the log">not in the catalogue<//>`}<${ConsequenceTag} of=${tool.consequence} />
        <span class="spring"></span><a class="link small" href=${to("what-if", { agent: agent.alias ?? agent.id, tool: tool.name })}>What if…</a></header>
      ${tools.find(tool.name)?.description && html`<p class="muted"><${Text} value=${tools.find(tool.name)?.description} /></p>`}
      ${tool.reason && !tool.conditions.some((each) => tool.reason === `${each.policyName}: ${each.text}`) && html`<p><${Text} value=${tool.reason} /></p>`}
      ${
        tool.conditions.length > 0 &&
        html`<ul class="conditions">${tool.conditions.map(
          (
            each,
          ) => html`<li><span class=${`holds ${each.holds}`} title=${each.holds === null ? "Depends on the call" : each.holds ? "Holds now" : "Does not hold now"}>${each.holds === null ? "·" : each.holds ? "✓" : "✕"}</span>
        <div><${Text} value=${inUnits(each.text)} /> ${each.effect === "escalate" && html`<${Tag}>else asks a person<//>`} <a class="link small" href=${to(`policies/${each.policyId}`)}><${Text} value=${each.policyName} /></a>
        ${each.quota && html`<br /><${Quota} level=${each.quota} />`}</div></li>`,
        )}</ul>`
      }</section>`,
    )}</div>`;
}

/** @param {{agent: Agent}} props */
export function AgentLimits({ agent }) {
  const read = useRead(
    `limits ${agent.id}`,
    async (signal) => /** @type {AgentQuotas} */ ((await get(`/v1/agents/${agent.id}/quotas`, {}, signal)).data),
  );
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) read.reload();
    }, 10_000);
    return () => clearInterval(timer);
  }, []);
  if (read.error && !read.data) return html`<${Problem} error=${read.error} retry=${read.reload} />`;
  if (!read.data) return html`<${Skeleton} />`;
  if (!read.data.quotas.length)
    return html`<${Empty} icon="overview" title="No limit counts for this agent"><p>Rate limits, budgets and denial breakers of its policies appear here with how full they are.</p><//>`;
  return html`<div class="list">${read.data.quotas.map(
    (
      each,
    ) => html`<section class="item" key=${`${each.policyId} ${each.rule.index}`}><header><b><${Text} value=${inUnits(each.text)} /></b>${each.effect === "escalate" && html`<${Tag}>else asks a person<//>`}<span class="spring"></span><a class="link small" href=${to(`policies/${each.policyId}`)}><${Text} value=${each.policyName} /></a></header>
    ${each.quota && html`<${Quota} level=${each.quota} />`}
    ${each.values && html`<${Counted} values=${each.values} per=${each.per ?? []} />`}
    <p class="small muted">Counts ${each.tools.map((name) => html`<code><${Text} value=${name} /></code> `)}</p></section>`,
  )}</div>`;
}

/** The service's words, with its seconds as people say them. @param {string} text */
const inUnits = (text) => text.replace(/\bin (\d+) s\b/g, (_, seconds) => `in ${duration(Number(seconds))}`);

/** The fullest of a limit's buckets, one for each value. @param {{values: CountedValues, per: string[]}} props */
function Counted({ values, per }) {
  if (!values.fullest.length)
    return html`<p class="muted">Nothing is counted for any value of ${per.join(" and ")}.</p>`;
  return html`<ul class="conditions">${values.fullest.map(
    (each) =>
      html`<li><span></span><div><${Quota} level=${each.quota} /> ${
        each.values
          ? each.values.map(
              (one) =>
                html`<span class="read"><code><${Text} value=${one.name} /></code> = ${"value" in one ? html`<${Value} value=${one.value} />` : "missing"} </span>`,
            )
          : html`<span class="small muted">for a value of ${per.join(" and ")} that the log does not show</span>`
      }</div></li>`,
  )}</ul>
    ${Number(values.total) > values.fullest.length && html`<p class="small muted">and ${Number(values.total) - values.fullest.length} values with lower counts</p>`}`;
}

/** @param {{agent: Agent}} props */
export function AgentPolicies({ agent }) {
  if (!policies.all)
    return policies.error
      ? html`<${Problem} error=${policies.error} retry=${policies.refresh} />`
      : html`<${Skeleton} />`;
  const governs = governing(agent.id, agent.groups);
  const ordered = [
    ...governs.filter((each) => each.kind === "guardrail"),
    ...governs.filter((each) => each.kind === "grant").sort((a, b) => Number(b.priority) - Number(a.priority)),
  ];
  if (!ordered.length)
    return html`<${Empty} icon="policies" title="No policy governs this agent"><p>So every call is denied. <a href=${to("policies/new", { agent: agent.id })}>Write its first policy</a></p><//>`;
  return html`<p class="muted">Guardrails are evaluated for every call and never allow. Grants decide in their order, the highest priority first.</p>
    <div class="list">${ordered.map(
      (
        each,
      ) => html`<section class="item"><header><a href=${to(`policies/${each.id}`)}><b><${Text} value=${each.name} /></b></a><${Tag}>${each.kind}<//>${each.kind === "grant" && html`<${Tag}>priority ${each.priority}<//>`}
      <${Tag}>${each.agentId ? "agent" : each.group ? `group ${each.group}` : "workspace"}<//>${each.mode === "shadow" && html`<${Pill} is="shadow" />`}${!each.enabled && html`<${Pill} is="off" />`}</header>
      <ul class="words">${rulesInWords(each).map((words) => html`<li><${Text} value=${words} /></li>`)}</ul></section>`,
    )}</div>
    <p><a href=${to("policies/new", { agent: agent.id })}>Write another policy for this agent</a></p>`;
}

/** @param {{agent: Agent}} props */
export function AgentDecisions({ agent }) {
  const feed = useFeed({ agent_id: agent.id }, false);
  const entry = param("entry");
  if (!can("read", "audit")) return html`<p class="muted">You need the scope read or audit to see decisions.</p>`;
  return html`<p><a href=${to("decisions", { agent_id: agent.id })}>Live, with all filters</a></p>
    <${Problem} error=${!feed.entries.length && feed.error} />
    <${Entries} tall agent=${false} entries=${feed.entries} all=${false} selected=${entry} open=${(/** @type {Entry} */ row) => setParams({ entry: row.id }, {})} end=${() => feed.older()} loading=${feed.reading}
      empty=${html`<${Empty} icon="decisions" title="It has not asked for anything yet" />`} />
    ${entry && html`<${Later} load=${() => import("./why.js")} name="Why" id=${entry} close=${() => setParams({ entry: null })} />`}`;
}
