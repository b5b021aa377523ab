// The tests of an agent's policies, and claims over all of its calls, run against a draft or what is in force.
import { ask, Refused } from "../api.js";
import { agents } from "../names.js";
import { keep, kept, readTests } from "../test_cases.js";
import { param } from "../url.js";
import { html, useEffect, useState } from "../vendor/preact.js";
import { CopyButton, save } from "./copy.js";
import { Problem } from "./loading.js";
import { Values } from "./meaning.js";
import { Pill, Tag, Text } from "./text.js";

/** @typedef {{passed: number, failed: number, tests: {name: string, passed: boolean, problem: string | null, got: {result: string, policy: string | null, ruleIndex: number | null, ruleType: string | null, reason: string, at: string, untimed: string[]}}[], never: Claim[]}} Results */
/** @typedef {{name: string, holds: boolean | null, broken_by: (import("./meaning.js").MadeCall & {tool: string, result: string, reason: string}) | null, tried: number, because: string[]}} Claim */
const IN_FORCE = "by the policies in force";
/** @typedef {{agentId: string | null, group: string | null, id?: string}} Owner */

/** The results of the tests in a text. draft: stands in for the policy of this id, or is added; as if it were enforced. Raises an Error.
 * @param {string} agent @param {string} text @param {any} draft @returns {Promise<Results>} */
async function run(agent, text, draft) {
  const { tests, never, start } = await readTests(text);
  try {
    return (
      await ask("POST", "/v1/policies/test", {
        body: {
          agent_id: agent,
          tests,
          never,
          ...(start && { start }),
          ...(draft && { policies: [{ ...draft, mode: "enforce" }] }),
        },
      })
    ).data;
  } catch (error) {
    if (!(error instanceof Refused) || !error.details.length) throw error;
    throw new Error(
      error.details
        .map(({ path, message }) => {
          const at = /^\$\.(tests|never)\[(\d+)\]\.?(.*)$/.exec(path);
          return at
            ? `${at[1] === "tests" ? "Test" : "Claim"} ${Number(at[2]) + 1}: ${at[3]} ${message}`
            : `${path}: ${message}`;
        })
        .join(". "),
    );
  }
}

/** The policies that depend on the time, while no test says which. @param {Results} results */
const untimed = ({ tests }) => [...new Set(tests.flatMap((each) => each.got.untimed))];
/** "Fri, 20 Nov 2026 12:00:00 UTC": as a test's `at` and a rule's days are read. @param {string} at */
const utc = (at) => new Date(at).toUTCString().replace("GMT", "UTC");

/** @param {{owner: Owner, draft: any, changed: boolean}} props */
export function PolicyTests({ owner, draft, changed }) {
  const choices = [...(agents.all?.values() ?? [])].filter((each) =>
    owner.agentId ? each.id === owner.agentId : !owner.group || each.groups.includes(owner.group),
  );
  const [chosen, setChosen] = useState(param("agent"));
  const agent = choices.find((each) => each.id === chosen || each.alias === chosen) ?? choices[0];
  if (!agent)
    return html`<p class="muted">${agents.all ? "Tests need an agent that makes the calls. This policy governs none yet." : ""}</p>`;
  return html`${!owner.agentId && html`<label class="owner-choice">Calls are made by<select value=${agent.id} onChange=${(/** @type {any} */ event) => setChosen(event.target.value)}>${choices.map((each) => html`<option value=${each.id}>${each.name}</option>`)}</select></label>`}
    <${Tests} key=${agent.id} agent=${agent} draft=${(changed || draft?.mode === "shadow") && draft ? { ...draft, ...(owner.id && { id: owner.id }) } : null} tool=${firstTool(draft)} how=${changed ? "with your unsaved changes" : draft?.mode === "shadow" ? "as if it were enforced" : IN_FORCE} />`;
}

/** A tool that the policy names, for an example. @param {any} draft */
const firstTool = (draft) =>
  draft?.rules
    ?.flatMap((/** @type {Rule} */ rule) => rule.tools ?? [])
    .find((/** @type {string} */ name) => !/[*?]/.test(name)) ?? "order.read";

/** how: which policies judge them, in words. @param {{agent: Agent, draft: any, tool: string, how: string}} props */
function Tests({ agent, draft, tool, how }) {
  const [text, setText] = useState(kept(agent.id));
  const [state, setState] = useState(
    /** @type {{busy: boolean, of?: string, how?: string, results?: Results, error?: unknown}} */ ({ busy: false }),
  );
  const write = (/** @type {string} */ next) => {
    keep(agent.id, next);
    setText(next);
  };
  const start = async () => {
    setState((before) => ({ ...before, busy: true }));
    try {
      setState({ busy: false, of: `${how} ${text}`, how, results: await run(agent.id, text, draft) });
    } catch (error) {
      setState({ busy: false, of: `${how} ${text}`, error });
    }
  };
  useEffect(() => {
    if (text.trim()) start();
  }, []);
  const example = () =>
    write(
      `tests:\n  - name: ${JSON.stringify(`${tool} is allowed`)}\n    call: {tool: ${JSON.stringify(tool)}, parameters: {}}\n    want: allowed\n`,
    );
  return html`<p class="muted">Calls of this agent with the answers that you expect, judged by all of its policies${how === IN_FORCE ? "" : `, ${how}`}. Counters start empty; nothing is counted, logged or stored.</p>
    <div class="two even"><section class="stack"><label>Tests, as YAML or JSON<textarea class="mono" rows="18" wrap="off" spellcheck=${false} value=${text} placeholder=${"tests:\n  - name: small refunds are paid\n    call: {tool: refund.create, parameters: {amount: 9}}\n    want: allowed"}
        onInput=${(/** @type {any} */ event) => write(event.target.value)} onKeyDown=${(
          /** @type {KeyboardEvent} */ event,
        ) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) start();
        }}></textarea></label>
      <div class="buttons start"><button type="button" class="primary" disabled=${state.busy || !text.trim()} title="Ctrl+Enter" onClick=${start}>${state.busy ? "Running…" : "Run"}</button>
        ${text.trim() ? html`<button type="button" onClick=${() => save(`${agent.alias ?? agent.id}.test.yaml`, text)}>Download</button><${CopyButton} class="" label="Copy" text=${text} />` : html`<button type="button" onClick=${example}>Start with an example</button>`}</div>
      <p class="small muted">This tab of the browser keeps them until you sign out. Keep them for good in a <code>*.test.yaml</code> file beside the policy's, where <code>remit policy test</code> runs them. <b>Make a test</b> in the explanation of a decision adds one.</p></section>
    <section class="stack" aria-label="Results" aria-live="polite">${state.of !== undefined && state.of !== `${how} ${text}` && html`<p class="note calm">Something has changed since these tests were run.</p>`}<${Problem} error=${state.error} />
      ${
        state.results &&
        html`<h2>${state.results.passed} passed, ${state.results.failed} failed <span class="muted small">${state.how}</span></h2>
      ${untimed(state.results).map((name) => html`<p class="note" key=${name}>“<${Text} value=${name} />” depends on the time, and no test says <code>at</code>: these results are for one time only.</p>`)}
      <ol class="list">${state.results.tests.map(
        (
          each,
        ) => html`<li class="item"><header><${Pill} is=${each.passed ? "passed" : "failed"} /><b><${Text} value=${each.name} /></b></header>
        ${each.problem && html`<p class="error"><${Text} value=${each.problem} /></p>`}
        <p class="small muted line">got <${Pill} is=${each.got.result} />${each.got.policy && html`<span>by <${Text} value=${each.got.policy} />${each.got.ruleIndex !== null && `, rule ${Number(each.got.ruleIndex) + 1}`} ${each.got.ruleType && html`<${Tag}>${each.got.ruleType}<//>`}</span>`}<span>on ${utc(each.got.at)}</span></p>
        <p class="small"><${Text} value=${each.got.reason} /></p></li>`,
      )}</ol>
      ${state.results.never.length > 0 && html`<h2>Claims over all calls</h2><ol class="list">${state.results.never.map((each) => html`<${ClaimItem} claim=${each} />`)}</ol>`}`
      }</section></div>`;
}

/** @param {{claim: Claim}} props */
function ClaimItem({ claim }) {
  const { holds, broken_by: call, tried, because } = claim;
  return html`<li class="item"><header>${holds === null ? html`<${Pill} is="none" word="no proof" />` : html`<${Pill} is=${holds ? "passed" : "failed"} word=${holds ? "holds" : "is broken"} />`}<b><${Text} value=${claim.name} /></b></header>
    ${call && html`<p class="line">by <b><code><${Text} value=${call.tool} /></code></b> <${Pill} is=${call.result} /> <span class="small"><${Text} value=${call.reason} /></span></p><${Values} call=${call} />`}
    ${holds === null && html`<p class="small muted">No call of ${Number(tried).toLocaleString("en")} breaks it; that is no proof: <${Text} value=${because.join("; ")} /></p>`}</li>`;
}

/** The results of the kept tests in a sentence, for those who are about to save. @param {{agent: string, draft: any}} props */
export function TestsInShort({ agent, draft }) {
  const [said, setSaid] = useState(/** @type {{words: string, well: boolean} | null} */ (null));
  useEffect(() => {
    run(agent, kept(agent), draft).then(
      (results) => {
        const { passed, failed, tests, never } = results;
        const broken = never.filter((each) => each.holds === false);
        const names = untimed(results);
        setSaid({
          well: !failed && !names.length && !broken.length,
          words: `${
            failed
              ? `${failed} of ${passed + failed} tests fail: ${tests
                  .filter((each) => !each.passed)
                  .map((each) => each.name)
                  .join("; ")}`
              : `${passed === 1 ? "The test passes" : `All ${passed} tests pass`}.`
          }${broken.length ? ` ${broken.length} of ${never.length} claims ${broken.length === 1 ? "is" : "are"} broken: ${broken.map((each) => each.name).join("; ")}.` : ""}${names.length ? ` No test says at, and this depends on the time: ${names.join(", ")}.` : ""}`,
        });
      },
      (error) => setSaid({ well: false, words: `The tests could not be run. ${error.message}` }),
    );
  }, []);
  return said && html`<p class=${said.well ? "fine small" : "note"}><${Text} value=${said.words} /></p>`;
}
