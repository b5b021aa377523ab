// Policies proposed for an agent from its log: what they were made from, how they were tried, and what to do with them.
import "../styles.js";
import { ask, linesOf, refusal, sent } from "../api.js";
import { parse, write } from "../exact.js";
import { keys, policies, tools } from "../names.js";
import { asFile, counted, evidenceOf, inShadow, partOf } from "../proposal_file.js";
import { can, lacks } from "../session.js";
import { go, to } from "../url.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Confirm } from "./confirm.js";
import { CopyButton, save } from "./copy.js";
import { Problem } from "./loading.js";
import { inWords } from "./rule_words.js";
import { CONSEQUENCES, Pill, Tag, Text } from "./text.js";

/** @typedef {import("../proposal_file.js").Proposal} Proposal */
/** @typedef {import("../proposal_file.js").Evidence} Evidence */
/** @typedef {import("../proposal_file.js").Change} Change */
/** @typedef {import("../proposal_file.js").ProposedValue} ProposedValue */
/** @typedef {{busy: boolean, progress?: {done: number, of: number}, proposal?: Proposal, error?: unknown}} State */

const DAYS = [
  [7, "Last week"],
  [30, "Last 30 days"],
  [90, "Last 90 days"],
];
/** What a proposal does about a tool. @type {Record<string, [string, string]>} */
const USES = {
  free: ["allowed", "free"],
  named: ["conditional", "if the user named it"],
  bounded: ["conditional", "bounded"],
  asks: ["escalated", "asks"],
  unseen: ["escalated", "never seen, asks"],
  unknown: ["denied", "not in the catalogue, denied"],
};

/** The names in a line of text, by commas. @param {string} text */
const named = (text) => [...new Set(text.split(",").map((each) => each.trim()))].filter(Boolean);

/** @param {{agent: Agent}} props */
export function AgentPropose({ agent }) {
  const [days, setDays] = useState(30);
  const [asked, setAsked] = useState({ key: "", user: "", session: "", exclude: "", all: false });
  const [state, setState] = useState(/** @type {State} */ ({ busy: false }));
  const stop = useRef(new AbortController());
  useEffect(() => {
    tools.look();
    return () => stop.current.abort();
  }, []);
  const run = async () => {
    stop.current = new AbortController();
    setState({ busy: true });
    try {
      const response = await sent("POST", "/v1/policies/propose", {
        body: {
          agent_id: agent.id,
          from: new Date(Date.now() - days * 86_400_000).toISOString(),
          filter: {
            keyId: asked.key ? [asked.key] : [],
            user: named(asked.user),
            session: named(asked.session),
            excludeSession: named(asked.exclude),
          },
          reads: asked.all ? "all" : "seen",
        },
        signal: stop.current.signal,
      });
      if (!response.ok) throw await refusal(response);
      for await (const text of linesOf(response)) {
        if (!text) continue;
        const line = parse(text);
        if (line.error) throw new Error(line.error);
        setState((before) => ({ ...before, ...line, busy: !line.proposal }));
      }
    } catch (error) {
      setState({ busy: false, error: stop.current.signal.aborted ? undefined : error });
    }
  };
  const field = (
    /** @type {"user" | "session" | "exclude"} */ name,
    /** @type {string} */ label,
    /** @type {string} */ hint,
  ) =>
    html`<label class="grow">${label}<input value=${asked[name]} placeholder=${hint} onInput=${(/** @type {any} */ event) => setAsked({ ...asked, [name]: event.target.value })} /></label>`;
  const { progress } = state;
  const noLog = lacks("read", "audit");
  return html`<section class="card stack" aria-label="What to learn from"><p class="muted">Policies made from what the agent was allowed to do and from what people have said of its tools. Nothing is applied.</p>
      <div class="chips" role="group" aria-label="Period">${DAYS.map(([count, words]) => html`<button type="button" class="chip" aria-pressed=${count === days} onClick=${() => setDays(Number(count))}>${words}</button>`)}</div>
      <div class="fields-row">${field("session", "Only these sessions", "all sessions, or names by commas")}${field("exclude", "Without these sessions", "none")}${field("user", "Only these users", "all users")}
        ${can("admin") && html`<label>Asked with<select value=${asked.key} onChange=${(/** @type {any} */ event) => setAsked({ ...asked, key: event.target.value })}><option value="">any key</option>${[...(keys.all?.values() ?? [])].map((each) => html`<option value=${each.id}>${each.name}</option>`)}</select></label>`}</div>
      <label class="check"><input type="checkbox" checked=${asked.all} onChange=${(/** @type {any} */ event) => setAsked({ ...asked, all: event.target.checked })} /> <span>Grant every tool of the catalogue that only reads, also those without a call</span></label>
      <div class="buttons start"><button type="button" class="primary" disabled=${state.busy || noLog !== undefined} title=${noLog} onClick=${run}>Propose</button>${state.busy && html`<button type="button" onClick=${() => stop.current.abort()}>Stop</button>`}</div>
      ${state.busy && html`<p role="status">${progress ? html`${Number(progress.done).toLocaleString("en")} of ${Number(progress.of).toLocaleString("en")} <progress max=${Number(progress.of)} value=${Number(progress.done)} aria-label="Read"></progress>` : "Starting…"}</p>`}
      <${Problem} error=${state.error} /></section>
    ${state.proposal && html`<${Proposed} agent=${agent} proposal=${state.proposal} />`}`;
}

/** @param {{agent: Agent, proposal: Proposal}} props */
function Proposed({ agent, proposal }) {
  const [putting, setPutting] = useState(false);
  const { learned, warnings } = proposal;
  const { changes } = proposal;
  const why = changes ? "These are changes of policies that the agent has: copy the file" : lacks("policies");
  const left = [
    learned.failed &&
      `${counted(learned.failed, "call")} failed and ${Number(learned.failed) === 1 ? "was" : "were"} not learned`,
    learned.sessionsLeftOut &&
      `${counted(learned.sessionsLeftOut, "session")} with ${counted(learned.callsLeftOut, "call")} left out: a person denied a call there, or a breaker tripped`,
  ].filter(Boolean);
  const text = () => asFile(agent, proposal);
  return html`<section class="card stack" aria-label="Proposal"><h2>${counted(learned.calls, "call")} of ${counted(learned.units, "user")} in ${counted(learned.sessions, "session")}</h2>
      ${left.map((each) => html`<p class="small muted">${each}.</p>`)}
      ${warnings.map((each) => html`<p class="note small"><${Text} value=${each} />${each.includes("not marked") && html` <a href=${to("catalog", { unsaid: "1" })}>Say what their calls do</a>`}</p>`)}
      <div class="buttons start"><button type="button" class="primary" disabled=${why !== undefined} title=${why} onClick=${() => setPutting(true)}>Put in shadow…</button><${CopyButton} class="" label="Copy as file" text=${text} /><button type="button" onClick=${() => save(`${agent.alias ?? agent.id}.yaml`, text())}>Download</button></div></section>
    ${changes ? html`<${Changes} changes=${changes} />` : html`<${Tools} proposal=${proposal} />`}
    ${proposal.policies.map(
      (each, place) => html`<section class="card stack" aria-label=${each.name}><h2><${Text} value=${each.name} /></h2>
      <ol class="list">${each.rules.map((/** @type {any} */ rule, /** @type {number} */ at) => html`<${Rule} agent=${agent} rule=${rule} evidence=${evidenceOf(proposal, place, at)} />`)}</ol></section>`,
    )}
    <${Tried} proposal=${proposal} />
    ${putting && html`<${Put} agent=${agent} proposal=${proposal} close=${() => setPutting(false)} />`}`;
}

/** What would change in the policies that the agent has, and a call for each kind of other answer. @param {{changes: Change[]}} props */
function Changes({ changes }) {
  const why = (/** @type {Change} */ { calls, units }) =>
    Number(calls) > 0 ? `${counted(calls, "call")} of ${counted(units, "user")} approved` : "unused for 90 days";
  return html`<section class="card stack" aria-label="Changes"><h2>Changes of its policies</h2>
    ${changes.length === 0 && html`<p>They need none: nothing granted is unused, and people approve nothing again and again.</p>`}
    <ul class="words">${changes.map(
      (each) =>
        html`<li><p>${each.kind} <code><${Text} value=${each.tool} /></code>: ${why(each)}</p>${[...each.meaning.flips, ...each.meaning.limits].map((flip) => html`<p class="small">${flip.from} → ${flip.to} <code><${Text} value=${`${flip.tool} ${write(flip.parameters, 0)}`} /></code></p>`)}</li>`,
    )}</ul></section>`;
}

/** The tools by what their calls do, and what the proposal does about each. @param {{proposal: Proposal}} props */
function Tools({ proposal }) {
  const groups = [...Object.keys(CONSEQUENCES), ""].map((each) => ({
    words: CONSEQUENCES[each] ?? "not said yet",
    of: proposal.tools.filter(({ name }) => (tools.find(name)?.consequence ?? "") === each),
  }));
  return html`<section class="card stack" aria-label="Tools"><h2>Tools by what their calls do</h2>
    ${groups.filter((each) => each.of.length).map(({ words, of }) => html`<h3>${words}</h3><ul class="words">${of.map((each) => html`<li class="line"><code><${Text} value=${each.name} /></code><${Pill} is=${USES[each.use]?.[0]} word=${USES[each.use]?.[1] ?? each.use} /><span class="small muted">${Number(each.calls) > 0 && `${counted(each.calls, "call")}, ${counted(each.units, "user")}`}${each.why && html`${Number(each.calls) > 0 && "; "}<${Text} value=${each.why} />`}</span></li>`)}</ul>`)}</section>`;
}

/** A rule in a sentence, and one press away what it was made from. @param {{rule: any, evidence: Evidence[], agent: Agent}} props */
function Rule({ rule, evidence, agent }) {
  const whole = evidence.find((each) => !partOf(each)) ?? evidence[0];
  const leftOut = evidence.reduce((sum, each) => sum + each.leftOut.length, 0);
  const made = whole && Number(whole.calls) > 0;
  return html`<li class="item"><p><${Text} value=${inWords(rule)} /></p>
    ${
      made
        ? html`<details><summary class="small muted">${counted(whole.calls, "call")}, ${counted(whole.units, "user")}${leftOut > 0 && `; ${counted(leftOut, "value")} left out`}</summary>
      ${evidence.map(
        (
          each,
        ) => html`<p class="small">${partOf(each) && html`<code><${Text} value=${partOf(each)} /></code> `}<${Tag}>${each.form}<//></p>
        <${Values} of=${each.examples} words="such as" /><${Values} of=${each.leftOut} words="left out, because too few users did it:" />`,
      )}
      ${rule.tools.length === 1 && html`<p class="small"><a href=${to("decisions", { agent_id: agent.id, tool_name: rule.tools[0] })}>Its calls</a></p>`}</details>`
        : html`<p class="small muted">${whole ? "no call in the log" : "as it is"}</p>`
    }</li>`;
}

/** Each value is a link to the oldest entry that has it. @param {{of: ProposedValue[], words: string}} props */
const Values = ({ of, words }) =>
  of.length > 0 &&
  html`<p class="small"><span class="muted">${words}</span> ${of.map((each, at) => html`${at > 0 && ", "}<a href=${to("decisions", { entry: each.entry })}><code><${Text} value=${each.value} /></code></a> (${counted(each.units, "user")})`)}</p>`;

/** What was asked of users it has not seen, the calls it was made from, and hostile variations. @param {{proposal: Proposal}} props */
function Tried({ proposal: { unseen, replay, hostile } }) {
  const all = unseen && Number(unseen.allowed) + Number(unseen.escalated) + Number(unseen.denied);
  return html`<section class="card stack" aria-label="How it was tried"><h2>How it was tried</h2>
    <p>Replayed: ${counted(replay.allowed, "call")} allowed, ${replay.escalated} asked, ${replay.denied} denied.</p>
    <p>${unseen ? `Users it has not seen: ${((100 * Number(unseen.escalated)) / Math.max(1, Number(all))).toFixed(1)} % of calls would ask, ${unseen.denied} would be denied.` : "There are too few users to hold some out."}</p>
    ${hostile.calls ? html`<p class=${Number(hostile.allowed) ? "note" : "fine"}>Hostile variations of these calls: ${counted(hostile.calls, "call")} of ${counted(hostile.kinds, "kind")}; ${Number(hostile.allowed) ? `${hostile.allowed} would be allowed.` : "none would be allowed."}</p>` : ""}
    ${hostile.examples.map((each) => html`<p class="small line"><${Tag}>${each.kind}<//> <code><${Text} value=${`${each.tool} ${each.parameters}`} /></code></p>`)}</section>`;
}

/** @param {{agent: Agent, proposal: Proposal, close: () => void}} props */
function Put({ agent, proposal, close }) {
  const put = async (/** @type {string} */ reason) => {
    await ask("PUT", `/v1/agents/${agent.id}/policies`, { body: { policies: inShadow(proposal) }, reason });
    await policies.refresh();
    go(to(`agents/${agent.alias ?? agent.id}`, { tab: "policies" }));
  };
  return html`<${Confirm} title="Put the proposal in shadow" button="Put in shadow" close=${close} act=${put}>
    <p>${proposal.policies.length + 1} policies in shadow mode, above all others: they change no answer, and each shows which calls it would answer otherwise. Shadow policies of the same names are replaced; all others stay.</p><//>`;
}
