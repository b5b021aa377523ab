// An id as the name that people know it by.
import { agents, keys, policies } from "../names.js";
import { to } from "../url.js";
import { html } from "../vendor/preact.js";
import { Text } from "./text.js";

/** @param {{id: string, link?: boolean}} props */
export function AgentName({ id, link = false }) {
  const agent = agents.find(id);
  const name = agent ? html`<${Text} value=${agent.name} />` : html`<code class="id" title=${id}>${id.slice(0, 8)}…</code>`;
  return link ? html`<a href=${to(`agents/${agent?.alias ?? id}`)}>${name}</a>` : name;
}

/** @param {{id: string | null, link?: boolean}} props */
export function PolicyName({ id, link = true }) {
  if (!id) return html`<span class="muted">none</span>`;
  const policy = policies.find(id);
  const name = policy ? html`<${Text} value=${policy.name} />` : html`<code class="id" title=${id}>${id.slice(0, 8)}…</code>`;
  return link ? html`<a href=${to(`policies/${id}`)}>${name}</a>` : name;
}

/** @param {{id: string}} props */
export function KeyName({ id }) {
  const key = keys.find(id);
  return key ? html`<${Text} value=${key.name} />` : html`<code class="id" title=${id}>${id.slice(0, 8)}…</code>`;
}
