// One agent: what it may do now, how full its limits are, who governs it, what it did, and who changed it.
import "../styles.js";
import { ask, get } from "../api.js";
import { Icon } from "../icons.js";
import { agents, policies, PolicyName } from "../names.js";
import { AgentDecisions, AgentLimits, AgentPolicies, AgentTools } from "../parts/agent_tabs.js";
import { Confirm } from "../parts/confirm.js";
import { Later, Problem, Skeleton } from "../parts/loading.js";
import { useRead } from "../parts/read.js";
import { Tabs } from "../parts/tabs.js";
import { Pill, Tag, Text } from "../parts/text.js";
import { can, lacks } from "../session.js";
import { param, place, to } from "../url.js";
import { html, useEffect, useState } from "../vendor/preact.js";

/** @type {Record<string, [string, Function]>} */
const TABS = {
  tools: ["Tools", AgentTools],
  bounds: [
    "Bounds",
    (/** @type {{agent: Agent}} */ { agent }) =>
      html`<${Later} load=${() => import("../parts/meaning.js")} name="AgentBounds" agent=${agent} />`,
  ],
  limits: ["Limits", AgentLimits],
  policies: ["Policies", AgentPolicies],
  decisions: ["Decisions", AgentDecisions],
  propose: [
    "Propose",
    (/** @type {{agent: Agent}} */ { agent }) =>
      html`<${Later} load=${() => import("../parts/agent_propose.js")} name="AgentPropose" agent=${agent} />`,
  ],
  changes: [
    "Changes",
    (/** @type {{agent: Agent}} */ { agent }) =>
      html`<${Later} load=${() => import("../parts/agent_history.js")} name="AgentHistory" agent=${agent} />`,
  ],
};

/** @param {{id: string}} props */
export function Screen({ id }) {
  const read = useRead(
    `agent ${id}`,
    async (signal) => /** @type {Agent} */ ((await get(`/v1/agents/${encodeURIComponent(id)}`, {}, signal)).data),
  );
  const waiting = useRead(`waiting ${id}`, async (signal) =>
    can("read", "approve")
      ? /** @type {Summary} */ ((await get("/v1/approvals/summary", { agent_id: id, calls: 0 }, signal)).data)
      : null,
  );
  const [asking, setAsking] = useState(/** @type {null | "suspended" | "active" | "revoked"} */ (null));
  useEffect(() => {
    policies.all;
  }, []);
  const agent = read.data;
  const tab = param("tab") in TABS ? param("tab") : "tools";
  if (!agent)
    return html`<div class="page"><div class="head"><${Back} /><h1>Agent</h1></div><${Problem} error=${read.error} retry=${read.reload} />${read.slow && html`<${Skeleton} />`}</div>`;
  const open = Number(waiting.data?.waiting ?? 0);
  const begin = (/** @type {typeof asking} */ status) => {
    waiting.reload();
    setAsking(status);
  };
  // Somebody else has changed the agent: the next press is on what they have made of it.
  const again = (/** @type {unknown} */ error) => {
    read.reload();
    throw error;
  };
  const change = async (/** @type {string} */ reason) => {
    await ask("PATCH", `/v1/agents/${agent.id}`, { body: { status: asking }, ifMatch: agent.version, reason }).catch(
      again,
    );
    setAsking(null);
    read.reload();
    agents.refresh();
  };
  const Tab = TABS[tab][1];
  return html`<div class="page full"><div class="head"><${Back} /><h1><${Text} value=${agent.name} /></h1><${Pill} is=${agent.status} />
      <span class="spring"></span><div class="buttons"><${Actions} agent=${agent} ask=${begin} /></div>
      ${agent.description && html`<p class="lead"><${Text} value=${agent.description} lines /></p>`}</div>
    <p class="about">${agent.alias && html`<code>${agent.alias}</code>`} <code class="muted">${agent.id}</code> ${agent.groups.map((each) => html`<${Tag}>${each}<//> `)}</p>
    ${agent.tripped && html`<p class="note">The denial breaker of <${PolicyName} id=${agent.tripped.policyId} /> suspended it. <a href=${to("decisions", { entry: agent.tripped.decisionId })}>The last denial</a></p>`}
    <${Tabs} label="Parts of the agent" tabs=${Object.entries(TABS).map(([name, [words]]) => [name, words])} shown=${tab} at=${(/** @type {string} */ name) => `${place.value.path}?tab=${name}`} />
    <${Tab} agent=${agent} key=${`${tab} ${agent.version}`} />
    ${
      asking &&
      html`<${Confirm} title=${{ suspended: `Stop ${agent.name}`, active: `Activate ${agent.name}`, revoked: `Revoke ${agent.name}` }[asking]} button=${{ suspended: "Stop", active: "Activate", revoked: "Revoke for good" }[asking]}
      danger=${asking !== "active"} reason="needed" name=${asking === "revoked" ? agent.name : undefined} close=${() => setAsking(null)} act=${change}>
      <p>${
        asking === "active"
          ? "Its policies decide about its calls again, on every replica from now on."
          : `All calls of this agent are denied on every replica from now on.${open ? ` ${open} pending ${open === 1 ? "approval ends" : "approvals end"}; approved ones that were not used yet end, too.` : " Approved calls that were not made yet can no longer be made."}${asking === "revoked" ? " This is final: a revoked agent cannot become active again." : " Activate takes it back."}`
      }</p><//>`
    }</div>`;
}

const Back = () =>
  html`<a class="quiet square" href=${to("agents")} aria-label="All agents"><${Icon} name="back" /></a>`;

/** @param {{agent: Agent, ask: (to: "suspended" | "active" | "revoked") => void}} props */
function Actions({ agent, ask: choose }) {
  const why = lacks("policies");
  if (agent.status === "revoked") return null;
  return html`${agent.status === "suspended" && html`<button type="button" disabled=${why} title=${why} onClick=${() => choose("active")}>Activate…</button>`}
    <button type="button" class="quiet" disabled=${why} title=${why} onClick=${() => choose("revoked")}>Revoke…</button>
    ${agent.status === "active" && html`<button type="button" class="danger" disabled=${why} title=${why} onClick=${() => choose("suspended")}><${Icon} name="stop" />Stop…</button>`}`;
}
