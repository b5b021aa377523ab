// The calls of a span of time under a draft: which answers would flip, with samples; what cannot be judged is counted.
import { linesOf, refusal, sent } from "../api.js";
import { parse, write } from "../exact.js";
import { to } from "../url.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { CopyButton, curl } from "./copy.js";
import { Problem } from "./loading.js";
import { Pill, Text, Time } from "./text.js";

/** @type {Record<string, string>} */
const CAUSES = {
  hidden: "read what the log does not contain",
  limits: "depend on limits before the span",
  edited: "were judged by policies of which no version is kept",
  unknown: "are of agents that are not known",
  unreadable: "are unreadable",
};
const DAYS = [
  [1, "Last day"],
  [7, "Last week"],
  [30, "Last 30 days"],
];

/** Lines of JSON as they come. @param {string} path @param {unknown} body @param {AbortSignal} signal @returns {AsyncGenerator<any>} */
async function* streamed(path, body, signal) {
  const response = await sent("POST", path, { body, signal });
  if (!response.ok) throw await refusal(response);
  for await (const line of linesOf(response)) if (line) yield parse(line);
}

/** set: all policies that the agent would have of its own, null for those of each call's time. about: what they are.
 * @param {{agent: string, set: any[] | null, about?: string}} props */
export function Replay({ agent, set, about }) {
  const [days, setDays] = useState(7);
  const [state, setState] = useState(
    /** @type {{running: boolean, of?: string, progress?: any, flips: any[], report?: any, error?: unknown}} */ ({
      running: false,
      flips: [],
    }),
  );
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const asked = write([agent, days, set], 0);
  const body = () => ({
    agent_id: agent,
    from: new Date(Date.now() - days * 86_400_000).toISOString(),
    ...(set && { policies: set }),
  });
  const run = async () => {
    stop.current = new AbortController();
    setState({ running: true, of: asked, flips: [] });
    try {
      for await (const line of streamed("/v1/replay", body(), stop.current.signal)) {
        if (line.error) throw new Error(line.error);
        setState((before) => ({
          ...before,
          progress: line.progress ?? before.progress,
          flips: line.flip ? [...before.flips, line.flip] : before.flips,
          report: line.report ?? before.report,
        }));
      }
      setState((before) => ({ ...before, running: false }));
    } catch (error) {
      setState((before) => ({ ...before, running: false, error: stop.current.signal.aborted ? undefined : error }));
    }
  };
  const { report, progress } = state;
  return html`<div class="card stack"><div class="chips">${DAYS.map(([count, words]) => html`<button type="button" class="chip" aria-pressed=${count === days} onClick=${() => setDays(Number(count))}>${words}</button>`)}<span class="spring"></span>
      ${state.running && html`<button type="button" onClick=${() => stop.current.abort()}>Stop</button>`}<button type="button" class="primary" disabled=${state.running} onClick=${run}>Replay</button></div>
    <p class="small muted">${set ? about : "Without a draft, each call is judged again by the policies of its time, so no answer should change."}</p>
    ${state.running && html`<p role="status">${progress ? html`${Number(progress.done).toLocaleString("en")} of ${Number(progress.of).toLocaleString("en")} <progress max=${Number(progress.of)} value=${Number(progress.done)} aria-label="Replayed"></progress>` : "Starting…"}</p>`}
    ${state.of !== undefined && state.of !== asked && html`<p class="note calm">Something has changed since these calls were replayed.</p>`}<${Problem} error=${state.error} /></div>
    ${
      report &&
      html`<div class="card stack"><h2>${report.flipped ? `${Number(report.flipped).toLocaleString("en")} of ${Number(report.judged).toLocaleString("en")} answers would change` : `None of ${Number(report.judged).toLocaleString("en")} answers would change`}</h2>
      ${
        report.unjudged &&
        html`<ul class="words">${Object.entries(report.unjudged)
          .filter(([, count]) => Number(count) > 0)
          .map(([cause, count]) => html`<li>${count} calls ${CAUSES[cause] ?? cause}, and were not judged</li>`)}</ul>`
      }
      ${Number(report.approved) > 0 && html`<p class="small muted">${report.approved} were allowed by an approval.</p>`}<div class="buttons start"><${CopyButton} class="" label="Copy as curl" text=${() => curl("POST", "/v1/replay", write(body(), 0))} /></div></div>`
    }
    <div class="stack">${(report?.flips ?? state.flips).map(
      (
        /** @type {any} */ flip,
      ) => html`<section class="card stack"><h3 class="line"><${Pill} is=${flip.was} /> → <${Pill} is=${flip.becomes} /> <b>${flip.count} ${Number(flip.count) === 1 ? "call" : "calls"} of <code><${Text} value=${flip.toolName} /></code></b></h3>
      <p class="small muted">by ${decider(flip.by)}, now by ${decider(flip.nowBy)}</p>
      <ul class="words">${flip.samples.map((/** @type {any} */ each) => html`<li><a href=${to("decisions", { entry: each.id })}><${Time} at=${each.timestamp} /></a> <${Text} value=${each.newReason} /></li>`)}</ul></section>`,
    )}</div>`;
}

/** @param {any} by */
const decider = (by) =>
  by.policyName ? html`<${Text} value=${by.policyName} />${by.rule ? `, rule ${by.rule.index + 1}` : ""}` : "no policy";
