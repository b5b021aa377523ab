// A decision as a test: its text to copy, or to add to the tests of a policy.
import { policies } from "../names.js";
import { caseOf, keep, kept, withCase } from "../test_cases.js";
import { go, to } from "../url.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { CopyButton } from "./copy.js";
import { Problem } from "./loading.js";

/** @param {{entry: Entry}} props */
export function MakeTest({ entry }) {
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const shown = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    shown.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const { text, why } = caseOf(entry);
  const policy =
    policies.find(entry.policyId) ?? [...(policies.all?.values() ?? [])].find((each) => each.agentId === entry.agentId);
  const add = async () => {
    try {
      keep(entry.agentId, await withCase(kept(entry.agentId), text ?? ""));
      go(to(`policies/${policy?.id ?? "new"}`, { tab: "tests", agent: entry.agentId }));
    } catch (problem) {
      setError(problem);
    }
  };
  return html`<section class="card stack" aria-label="As a test" ref=${shown}><h3>As a test</h3>
    ${
      text === undefined
        ? html`<p class="muted">${why}</p>`
        : html`<p class="small muted">Wants the same answer again. Paste it into a <code>*.test.yaml</code> file for <code>remit policy test</code>, or run it here against a draft.</p>
      <pre class="json" tabindex="0" role="region" aria-label="The test">${text}</pre><${Problem} error=${error} />
      <div class="buttons start"><button type="button" class="primary" disabled=${!policies.all && !policies.error} onClick=${add}>Add to Tests</button><${CopyButton} class="" label="Copy the test" text=${text} /></div>`
    }</section>`;
}
