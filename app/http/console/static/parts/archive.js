// How far the log is archived, and the manifest that an archive's files must match.
import { get } from "../api.js";
import { write } from "../exact.js";
import { html, useState } from "../vendor/preact.js";
import { save } from "./copy.js";
import { Problem } from "./loading.js";
import { useRead } from "./read.js";
import { Time } from "./text.js";
import { words } from "./verify.js";

const PATH = "/v1/audit-logs/archive";

/** The lines of the manifest, for every segment that the store still has. @param {(done: number, all: number) => void} progress */
async function lines(progress) {
  const found = [];
  for (let after = 0; ;) {
    const { data } = await get(PATH, { after });
    found.push(...data.segments.map((/** @type {unknown} */ each) => `${write(each, 0)}\n`));
    after = Number(data.segments.at(-1)?.segment ?? data.sealedUpTo);
    progress(after, Number(data.sealedUpTo));
    if (after >= data.sealedUpTo) return found.join("");
  }
}

export function Archive() {
  const read = useRead("archive", async (signal) => /** @type {any} */ ((await get(PATH, { limit: 1 }, signal)).data));
  const [state, setState] = useState(/** @type {{done?: string, error?: unknown}} */ ({}));
  const download = () =>
    lines((done, all) => setState({ done: `${done} of ${all} segments` })).then(
      (text) => {
        setState({});
        save("manifest.jsonl", text);
      },
      (error) => setState({ error }),
    );
  const of = read.data;
  return html`<section class="card stack"><h2>Archive</h2>
    <p class="muted">Archives are files that <code>remit audit archive</code> writes; the service does not see them. The manifest has the hashes that these files must have, for every segment that the store still has.</p>
    <${Problem} error=${read.error ?? state.error} retry=${read.error ? read.reload : undefined} />
    ${
      of &&
      html`<dl class="facts"><dt>Archived</dt><dd>${Number(of.archivedUpTo) ? html`${words(of.archivedUpTo, "segment")} of ${of.sealedUpTo}${of.archivedAt && html`, with entries up to <${Time} at=${of.archivedAt} />`}` : "nothing yet"}</dd>
      <dt>In the store</dt><dd>${Number(of.sealedUpTo) ? `segments ${of.firstSegment} to ${of.sealedUpTo}${Number(of.firstSegment) > 1 ? "; only an archive has those before" : ""}` : "no sealed segment yet"}</dd></dl>
      <div class="buttons start"><button type="button" disabled=${!Number(of.sealedUpTo) || state.done !== undefined} onClick=${download}>${state.done ?? "Download the manifest"}</button></div>`
    }</section>`;
}
