// What policies mean for calls: what a draft would answer otherwise, and what an agent can ever do.
import "../styles.js";
import { ask, get } from "../api.js";
import { write } from "../exact.js";
import { html, useEffect, useState } from "../vendor/preact.js";
import { Problem, Skeleton } from "./loading.js";
import { useRead } from "./read.js";
import { Pill, Tag, Text, Time } from "./text.js";

/** @typedef {{parameters: any, context: any, at: string | null, limits: string[]}} MadeCall */
/** @typedef {MadeCall & {from: string, to: string, tool: string, like: string[], before: string, after: string}} PolicyFlip */
/** @typedef {{flips: PolicyFlip[], limits: PolicyFlip[], tools: number, classes: number, tried: number, complete: boolean, because: {tool: string, reason: string}[]}} Comparison */

const MOST = 6;
/** How often a comparison that has no room yet is tried again. */
const PATIENCE = 5;

/** The calls that would be answered otherwise. after: all policies that the owner would have. answered: told once that is known,
 * with the error if it is not.
 * @param {{owner: {agentId: string | null, group: string | null}, after: any[], answered?: (error?: unknown) => void}} props */
export function Meaning({ owner, after, answered }) {
  const [state, setState] = useState(/** @type {{found?: Comparison, error?: unknown}} */ ({}));
  const compare = (tries = 0) => {
    setState({});
    ask("POST", "/v1/policies/compare", {
      body: { ...(owner.agentId && { agent_id: owner.agentId }), ...(owner.group && { group: owner.group }), after },
    }).then(
      ({ data }) => {
        setState({ found: data });
        answered?.();
      },
      (error) => {
        // Another comparison of this session still runs, such as that of a dialog that was left.
        if (error.status === 429 && tries < PATIENCE)
          return setTimeout(() => compare(tries + 1), 1000 * error.retryAfter || 1000);
        setState({ error });
        answered?.(error);
      },
    );
  };
  useEffect(() => compare(), []);
  if (state.error) return html`<${Problem} error=${state.error} retry=${() => compare()} />`;
  if (!state.found) return html`<section class="stack meaning"><h3>In meaning</h3><${Skeleton} rows=${2} /></section>`;
  const { flips, limits, complete, because, tried } = state.found;
  const all = [...flips, ...limits];
  const allowed = flips.find((each) => each.to === "allowed") ?? limits.find((each) => each.to === "allowed");
  const rest = all.filter((each) => each !== allowed);
  const why = [...new Set(because.map((each) => each.reason))].join("; ");
  return html`<section class="stack meaning" aria-label="In meaning"><h3>In meaning</h3>
    ${!owner.agentId && html`<p class="small muted">For ${owner.group ? "the group's agents" : "every agent"}, whatever other policies they have.</p>`}
    ${allowed && html`<div class="alert stack"><b>${allowed.from === "denied" ? "Newly allowed" : "No longer asked"}</b><${Flip} flip=${allowed} /></div>`}
    ${rest.slice(0, MOST).map((each) => html`<${Flip} flip=${each} />`)}
    ${rest.length > MOST && html`<p class="small muted">and ${rest.length - MOST} more</p>`}
    <p class=${complete ? "fine small" : "note small"}>${complete ? (all.length ? "Nothing else changes." : "No call is answered otherwise.") : html`${all.length ? "No other change" : "No change"} in ${Number(tried).toLocaleString("en")} calls; that is no proof: <${Text} value=${why} />`}</p></section>`;
}

/** @param {{flip: PolicyFlip}} props */
function Flip({ flip }) {
  return html`<div class="stack"><p class="line"><${Pill} is=${flip.from} /> → <${Pill} is=${flip.to} /> <b><code><${Text} value=${flip.tool} /></code></b>${flip.like.length > 0 && html`<span class="muted small">and ${flip.like.length} like it</span>`}</p>
    <${Values} call=${flip} />
    <ul class="words small"><li><span class="muted">before</span> <${Text} value=${flip.before} /></li><li><span class="muted">after</span> <${Text} value=${flip.after} /></li></ul></div>`;
}

/** The values of a call that was made, and what else must be so. @param {{call: MadeCall}} props */
export function Values({ call }) {
  const context = Object.entries(call.context).filter(([name]) => name !== "session" && name !== "request");
  return html`<p class="made"><code><${Text} value=${write(call.parameters, 0)} /></code>${context.length > 0 && html` <span class="muted small">context</span> <code><${Text} value=${write(Object.fromEntries(context), 0)} /></code>`}${call.at && html` <span class="muted small">at <${Time} at=${call.at} /></span>`}</p>
    ${call.limits.map((each) => html`<p class="small muted">while: <${Text} value=${each} /></p>`)}`;
}

/** @typedef {{tool: string, like: string[], calls: string, bounds: {policy: string, effect: string, text: string}[], examples: (MadeCall & {result: string, reason: string})[]}} ToolBounds */
/** @typedef {{policy: string, ruleIndex: number, ruleType: string}} IdleRule */
/** @typedef {{tools: ToolBounds[], idleRules: IdleRule[], notJudged: IdleRule[], complete: boolean, because: {tool: string, reason: string}[]}} Bounds */

/** @type {Record<string, [string, string]>} */
const CALLS = {
  never: ["denied", "never"],
  asks: ["escalated", "always asks"],
  bounded: ["conditional", "within bounds"],
  any: ["allowed", "any"],
  undecided: ["none", "undecided"],
};

/** @param {{agent: Agent}} props */
export function AgentBounds({ agent }) {
  const read = useRead(
    `bounds ${agent.id} ${agent.version}`,
    async (signal) => /** @type {Bounds} */ ((await get(`/v1/agents/${agent.id}/bounds`, {}, signal)).data),
  );
  if (read.error && !read.data) return html`<${Problem} error=${read.error} retry=${read.reload} />`;
  if (!read.data) return html`<${Skeleton} />`;
  const { tools, idleRules, notJudged, complete, because } = read.data;
  return html`<p class="muted">What its calls can get, whatever it calls, under the policies in force.</p>
    <div class="list">${tools.map((each) => html`<${OfTool} bounds=${each} reasons=${because.filter((one) => one.tool === each.tool).map((one) => one.reason)} />`)}</div>
    <${Rules} rules=${idleRules} words="Nothing would change without" />
    <${Rules} rules=${notJudged} words="It could not be decided whether something would change without" />
    ${complete && html`<p class="fine small">Complete: no call gets another result.</p>`}`;
}

/** @param {{bounds: ToolBounds, reasons: string[]}} props */
function OfTool({ bounds, reasons }) {
  const [is, word] = CALLS[bounds.calls];
  return html`<section class="item"><header><code><${Text} value=${bounds.tool} /></code><${Pill} is=${is} word=${word} />${bounds.like.length > 0 && html`<${Tag} title=${bounds.like.join(", ")}>and ${bounds.like.length} like it<//>`}</header>
    ${bounds.bounds.length > 0 && html`<ul class="words">${bounds.bounds.map((each) => html`<li><${Text} value=${each.text} /> ${each.effect === "escalate" && html`<${Tag}>else asks a person<//>`} <span class="muted small"><${Text} value=${each.policy} /></span></li>`)}</ul>`}
    ${bounds.examples.length > 1 && bounds.examples.map((each) => html`<div><p class="line"><${Pill} is=${each.result} /> <span class="small"><${Text} value=${each.reason} /></span></p><${Values} call=${each} /></div>`)}
    ${reasons.map((each) => html`<p class="note small">No proof: <${Text} value=${each} /></p>`)}</section>`;
}

/** @param {{rules: IdleRule[], words: string}} props */
function Rules({ rules, words }) {
  if (!rules.length) return null;
  return html`<p class="small">${words}: ${rules.map((each, place) => html`${place > 0 && ", "}rule ${Number(each.ruleIndex) + 1} of <b><${Text} value=${each.policy} /></b> (${each.ruleType})`)}</p>`;
}
