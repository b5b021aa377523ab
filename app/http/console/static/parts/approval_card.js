// One call that waits for a person: every argument exact, what is unusual, and two buttons.
import { ask, get, Refused } from "../api.js";
import { noteApproval } from "../approvals_feed.js";
import { Exact, pieces, write } from "../exact.js";
import { leaves } from "../leaves.js";
import { AgentName, agents, PolicyName } from "../names.js";
import { barred, can, isMine } from "../session.js";
import { countdown, duration, now } from "../time.js";
import { to } from "../url.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Later, Problem } from "./loading.js";
import { useRead } from "./read.js";
import { ConsequenceTag, isLong, Pill, Text, Time, Value } from "./text.js";

/** How long an approval may be kept from a person by a comparison that does not come. */
const PATIENCE_MS = 20_000;
/** How long a comparison is good for list and card. */
const KEPT_MS = 30_000;

/** Of the page, and of the part of it that scrolls. */
const NEAR = { rootMargin: "600px", scrollMargin: "600px" };

/** @type {Map<string, Promise<Usual>>} */
const comparisons = new Map();

/** The call beside earlier ones; list and card ask once, and again when it failed or the card is looked at later.
 * @param {string} id @returns {Promise<Usual>} */
export function compared(id) {
  const known = comparisons.get(id);
  if (known) return known;
  const asked = get(`/v1/approvals/${id}/usual`, {}, AbortSignal.timeout(PATIENCE_MS)).then(({ data }) => data);
  comparisons.set(id, asked);
  const forget = () => comparisons.delete(id);
  asked.then(() => setTimeout(forget, KEPT_MS), forget);
  return asked;
}

/** place: of the call in its plan. decides: whether the card has its own buttons. withdraws: whether
 * what was approved is withdrawn here, and not among cards that must not move. wants: told what has to be done before it
 * can be approved, "" if nothing.
 * @param {{approval: Approval, alone?: boolean, place?: number, decides?: boolean, withdraws?: boolean, wants?: (before: string) => void}} props */
export function ApprovalCard({ approval, alone = false, place, decides = true, withdraws = alone, wants }) {
  const pending = approval.status === "pending";
  const left = (Date.parse(approval.expiresAt) - now.value) / 1000;
  const rows = leaves(approval.parameters).filter((row) => row.path);
  const context = leaves(approval.context).filter(
    (row) => row.path && (row.path === "request" || approval.boundContext.some((path) => row.path.startsWith(path))),
  );
  // What others say meanwhile is shown when it is asked for, so that nothing moves under the pointer.
  const [shown, setShown] = useState(approval.approvals.length);
  const told = alone && !pending ? undefined : shown;
  const [opened, setOpened] = useState(/** @type {string[]} */ ([]));
  const [card, seen] = useSeen();
  const style = useHeight(card, pending && left > 0);
  useEffect(() => {
    if (seen && approval.status === "ended")
      get(`/v1/approvals/${approval.id}`).then(
        ({ data }) => noteApproval(data),
        () => {},
      );
  }, [seen, approval.status]);
  const compares = pending && seen;
  const usual = useRead(`usual ${approval.id} ${compares}`, () =>
    compares ? compared(approval.id) : Promise.resolve(null),
  );
  const [without, setWithout] = useState(false);
  const changed = useChanges(approval);
  const unread = rows.filter((row) => isLong(row.value) && !opened.includes(row.path)).length;
  const before =
    unread > 0
      ? `Open the ${unread === 1 ? "folded value" : `${unread} folded values`} first`
      : !usual.data && !usual.error
        ? "Comparing with earlier calls…"
        : usual.data || without
          ? ""
          : "Say that it could not be compared";
  useEffect(() => wants?.(before), [before]);
  const show = (/** @type {{path: string, value: unknown}} */ row, inContext = false) => {
    const found = inContext
      ? undefined
      : usual.data?.values.find((each) => each.path === row.path || each.path === `${row.path}.number`);
    const marks =
      found?.nearest && typeof row.value === "string" && row.value.length <= 2 * found.nearest.value.length
        ? differing(row.value, found.nearest.value)
        : undefined;
    return html`<dt><bdi><${Text} value=${inContext ? `context.${row.path}` : row.path} /></bdi></dt><dd class=${changed.includes(row.path) ? "has-changed" : ""}><${Value} value=${row.value} marks=${found?.difference === "look_alike" ? marks?.[0] : undefined} open=${!pending} onOpen=${() => setOpened((before) => [...before, row.path])} />
      ${!inContext && originOf(approval, row.path)}${pending && !inContext && html`<${Note} found=${found} marks=${marks?.[1]} />`}</dd>`;
  };
  const failed = compares && usual.error && !usual.data;
  return html`<article class=${`card approval ${approval.status}`} aria-label=${`${approval.toolName}, ${approval.status}`} id=${`approval-${approval.id}`} tabindex="-1" ref=${card} style=${style}>
    <header>${place && html`<span class="tag number">${place}</span>`}<h2 class="tool"><code><${Text} value=${approval.toolName} /></code></h2>${approval.action !== "authorize" && html`<code><${Text} value=${approval.action} /></code>`}<${ConsequenceTag} of=${approval.consequence} /><span class="spring"></span>
      ${pending ? html`<span class=${`left number ${left < 120 ? "soon" : ""}`} role="timer" title=${approval.expiresAt}>${left > 0 ? `${countdown(left)} left` : "time is over"}</span>` : html`<${Pill} is=${approval.status} />`}</header>
    <p class="asks"><b><${AgentName} id=${approval.agentId} named=${approval.agentName} link=${can("read", "policies")} /></b> asks: <${Text} value=${approval.reason} /></p>
    <p class="small muted">Asked by <${Text} value=${approval.requestedBy.name} /> <${Time} at=${approval.createdAt} />${approval.requests > 1 ? `, ${approval.requests} times` : ""}${approval.policyId && html` under <${PolicyName} id=${approval.policyId} named=${approval.policyName} link=${can("read", "policies")} />`}.</p>
    <dl class="arguments">${rows.length ? rows.map((row) => show(row)) : html`<dt class="muted">No arguments</dt><dd></dd>`}${context.map((row) => show(row, true))}</dl>
    ${leaves(approval.agentSays)
      .filter((row) => row.path)
      .map(
        (row) =>
          html`<p class="small muted agent-says">The agent says (not part of what you approve): <code><${Text} value=${row.path} /></code> <q><${Text} value=${String(row.value)} /></q></p>`,
      )}
    ${approval.records.map((each) => html`<p class="small">A runtime reported of <code><${Text} value=${each.of} /></code>: ${each.fields === null ? html`<span class="unusual">nothing</span>` : html`<${Value} value=${each.fields} />`}</p>`)}
    ${approval.commands.length > 0 && html`<ol class="commands" aria-label="What the line runs">${approval.commands.map((each) => html`<li class=${each.passed ? "may-run" : "asks"}><code><${Text} value=${each.text} /></code> ${each.passed ? html`<span class="muted">may run</span>` : html`<span class="unusual"><${Text} value=${each.why ?? ""} /></span>`}</li>`)}</ol>`}
    <p class="small muted">${unverified(approval)}${allows(approval)}</p>
    ${
      approval.accessRequest &&
      html`<p class="small muted">Requested with:</p><dl class="arguments">${leaves(approval.accessRequest)
        .filter((row) => row.path)
        .map(
          (row) => html`<dt><bdi><${Text} value=${row.path} /></bdi></dt><dd><${Value} value=${row.value} /></dd>`,
        )}</dl>`
    }
    ${approval.approvals.slice(0, told).map((said) => html`<p class="said-by"><${Pill} is=${said.verdict} /> <b><${Text} value=${said.by.name} /></b>${said.by.via && said.by.via !== "key" && ` (${said.by.via})`} <span class="muted"><${Time} at=${said.at} /></span>${said.note && html`<span class="quote"><${Text} value=${said.note} lines /></span>`}</p>`)}
    ${pending && approval.required > 1 && html`<p class="small"><b>${approval.approvals.length} of ${approval.required}</b> people have approved.</p>`}
    ${pending && (!barred(approval) || isMine(approval.requestedBy)) && demands(approval).map((each) => html`<p class="small">Only <b><${Text} value=${each} /></b> decides.</p>`)}
    ${pending && left > 0 && decides && html`<${Decide} approval=${approval} before=${before} changed=${changed} />`}
    ${withdraws && approval.status === "approved" && html`<${Withdraw} approval=${approval} />`}
    ${
      pending &&
      html`<p class="small muted compared">${
        usual.data
          ? Number(usual.data.calls)
            ? `Compared with the ${usual.data.calls} latest allowed calls${usual.data.asked ? `, ${usual.data.asked} of them approved by people` : ""}.`
            : "This agent was never allowed to call this tool before."
          : failed
            ? html`<label class="check"><input type="checkbox" checked=${without} onChange=${(/** @type {any} */ event) => setWithout(event.target.checked)} /> <span>It could not be compared with earlier calls (<${Text} value=${/** @type {Error} */ (usual.error).message} />). I decide without.</span></label>`
            : compares && "Comparing with earlier calls…"
      }</p>`
    }
    ${approval.decisions.length > 0 && html`<p class="small muted">Decisions: ${approval.decisions.slice(0, 5).map((id, index) => html`${index ? ", " : ""}<a href=${to("decisions", { entry: id })}>${index ? `${index + 1}` : "the call that asked"}</a>`)}</p>`}
    <p class="small">${!alone && html`<a class="muted" href=${to(`approvals/${approval.id}`)}>Link to this approval</a> `}${approval.approvals[told] && html`<button type="button" class="link" onClick=${() => setShown()}>Show who</button>`}</p>
  </article>`;
}

/** @type {Record<string, string>} */
const ORIGINS = { request: "from the request", approved_before: "approved before" };

/** Where a value came from when the call was requested, if it is known. @param {Approval} approval @param {string} path */
function originOf(approval, path) {
  const found = approval.values?.find((each) => each.path === path);
  return (
    found &&
    html`${ORIGINS[found.origin] && html`<span class=${`origin ${found.origin}`}>${ORIGINS[found.origin]}</span>`}${found.notInRequest && html`<span class="unusual">not in the request: <${Text} value=${found.notInRequest.join(", ")} /></span>`}`
  );
}

/** Once a card, that values are unverified. @param {Approval} approval */
function unverified(approval) {
  const of = approval.values ?? [];
  const [all, some] = [of.length, of.filter((each) => each.origin === "unverified").length];
  if (!some) return "";
  return some === all ? "Unverified: no value is from the user's request. " : "Values without a mark are unverified. ";
}

/** The differences that honest calls hardly ever have. */
export const GRAVE = ["look_alike", "other_pairing", "other_unit"];

/** What is unusual about a value, in a line that is kept free for it; all of it once it is pressed.
 * @param {{found: Usual["values"][0] | undefined, marks: Set<number> | undefined}} props */
function Note({ found, marks }) {
  const [open, setOpen] = useState(false);
  if (!found?.unusual) return html`<span class="note-line"></span>`;
  const { difference = "", nearest, unusual } = found;
  const calls = nearest && `${nearest.count} ${nearest.count === 1 ? "call" : "calls"}`;
  return html`<button type="button" class=${`note-line unusual ${GRAVE.includes(difference) ? "grave" : ""}`} aria-expanded=${open} onClick=${() => setOpen(!open)}>${
    difference === "look_alike" && nearest && !open
      ? html`looks like <b><${Nearest} text=${nearest.value} marks=${marks} /></b> (${calls})`
      : html`<${Text} value=${unusual} />`
  }</button>`;
}

const [AROUND, HEAD, TAIL] = [4, 4, 6];

/** A text with its marks, shortened around them. @param {{text: string, marks: Set<number> | undefined}} props */
function Nearest({ text, marks = new Set() }) {
  const places = [...marks];
  const near = (/** @type {number} */ at) =>
    at < HEAD || at >= text.length - TAIL || places.some((place) => Math.abs(place - at) <= AROUND);
  if (text.length <= 16) return html`<${Text} value=${text} marks=${marks} />`;
  let shown = "";
  /** @type {Set<number>} */
  const moved = new Set();
  let at = 0;
  for (const character of text) {
    if (near(at)) {
      if (marks.has(at)) moved.add(shown.length);
      shown += character;
    } else if (!shown.endsWith("…")) shown += "…";
    at += character.length;
  }
  return html`<${Text} value=${shown} marks=${moved} />`;
}

/** The places, in code units, at which two texts differ: in the one, and in the other.
 * @param {string} one @param {string} other @returns {[Set<number>, Set<number>]} */
function differing(one, other) {
  const [left, right] = [[...one], [...other]];
  const rows = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let i = left.length; i >= 0; i--)
    for (let j = right.length; j >= 0; j--)
      rows[i][j] =
        i === left.length || j === right.length
          ? left.length - i + right.length - j
          : left[i] === right[j]
            ? rows[i + 1][j + 1]
            : 1 + Math.min(rows[i + 1][j + 1], rows[i + 1][j], rows[i][j + 1]);
  /** @type {[Set<number>, Set<number>]} */
  const found = [new Set(), new Set()];
  let [i, j, atLeft, atRight] = [0, 0, 0, 0];
  while (i < left.length || j < right.length) {
    const same = left[i] === right[j] && i < left.length && j < right.length;
    const both = same || (i < left.length && j < right.length && rows[i][j] === rows[i + 1][j + 1] + 1);
    const first = both || (i < left.length && rows[i][j] === rows[i + 1][j] + 1);
    if (first) {
      if (!same) found[0].add(atLeft);
      atLeft += left[i++].length;
    }
    if (both || !first) {
      if (!same) found[1].add(atRight);
      atRight += right[j++].length;
    }
  }
  return found;
}

/** What a call does, in a few words for a button: its tool, its first number with what it counts, else its first short text.
 * @param {Approval} approval */
export function inBrief(approval) {
  const rows = leaves(approval.parameters).filter((row) => row.path && row.value !== null);
  const number = rows.find(({ value }) => typeof value === "number" || value instanceof Exact);
  const unit = number && rows.find(({ path, value }) => /currency|unit/i.test(path) && typeof value === "string");
  const text = rows.find(({ value }) => typeof value === "string" && value.length <= 40);
  const what = number ? [number.value, unit?.value] : [text?.value];
  const words = [approval.toolName, ...what.filter((each) => each !== undefined).map(String)];
  return words
    .map((each) => pieces(each).map(({ text: shown }) => shown))
    .flat()
    .join(" ");
}

/** Who may decide, in words. @param {Approval} approval */
function demands(approval) {
  const groups = (approval.approvers ?? []).map((each) => `a person in ${each.groups.join(" or ")}`);
  return approval.fresh === undefined
    ? groups
    : [...groups, `a person whose sign-in is at most ${duration(approval.fresh)} old`];
}

/** What an approval permits, in words. @param {Approval} approval */
function allows(approval) {
  const uses = approval.usesLeft;
  if (approval.status === "approved")
    return `Allows ${uses} more ${uses === 1 ? "call" : "calls"} of exactly these arguments, until ${approval.usableUntil?.slice(0, 16).replace("T", " ")} UTC.`;
  return approval.status === "pending"
    ? `Allows ${uses} ${uses === 1 ? "call" : "calls"}, of exactly these arguments.`
    : "";
}

/** The paths whose values are not what was first shown. @param {Approval} approval */
function useChanges(approval) {
  const first = useRef(approval);
  if (first.current.version === approval.version) return [];
  const [was, is] = [first.current, approval].map(
    (each) => new Map(leaves(each.parameters).map((leaf) => [leaf.path, write(leaf.value)])),
  );
  return [...new Set([...was.keys(), ...is.keys()])].filter((path) => was.get(path) !== is.get(path));
}

/** A style that keeps what is no longer open as tall as it was, so that nothing below it moves.
 * @param {{current: HTMLElement | null}} node @param {boolean} open */
export function useHeight(node, open) {
  const height = useRef(0);
  if (open) height.current = -1;
  else if (height.current < 0 && node.current) height.current = node.current.getBoundingClientRect().height;
  return height.current > 0 ? { minHeight: `${height.current}px` } : undefined;
}

/** A reference, and whether what it refers to has been on the screen, or near to it.
 * @returns {[{current: HTMLElement | null}, boolean]} */
function useSeen() {
  const node = useRef(/** @type {HTMLElement | null} */ (null));
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver((all) => {
      if (all.some((each) => each.isIntersecting)) {
        setSeen(true);
        watch.disconnect();
      }
    }, NEAR);
    watch.observe(/** @type {HTMLElement} */ (node.current));
    return () => watch.disconnect();
  }, []);
  return [node, seen];
}

/** What sends a verdict on the approval, whether it is on its way, and why it was refused. @param {Approval} approval */
function useVerdict(approval) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const send = async (/** @type {string} */ verdict, /** @type {Record<string, unknown>} */ body) => {
    setBusy(true);
    setError(null);
    try {
      const { data } = await ask("POST", `/v1/approvals/${approval.id}/${verdict}`, {
        body,
        ifMatch: verdict === "cancel" ? undefined : approval.version,
      });
      noteApproval(data);
    } catch (problem) {
      setError(problem);
      if (problem instanceof Refused && ["APPROVAL_CHANGED", "APPROVAL_DECIDED"].includes(problem.code))
        noteApproval((await get(`/v1/approvals/${approval.id}`)).data);
    } finally {
      setBusy(false);
    }
  };
  return { send, busy, error };
}

/** Takes back what is approved and not used yet, for whoever asked or may decide. @param {{approval: Approval}} props */
function Withdraw({ approval }) {
  const { send, busy, error } = useVerdict(approval);
  const [note, setNote] = useState("");
  if (!isMine(approval.requestedBy) && barred(approval)) return null;
  const agent = agents.find(approval.agentId)?.name ?? approval.agentName ?? "the agent";
  return html`<div class="decide"><label class="sr" for=${`note-${approval.id}`}>Note</label><textarea id=${`note-${approval.id}`} rows="1" maxlength="2000" placeholder="Note, for the log" value=${note} onInput=${(/** @type {any} */ event) => setNote(event.target.value)}></textarea>
    <${Problem} error=${error} /><div class="verdicts"><button type="button" class="deny" disabled=${busy} aria-label=${`Withdraw ${inBrief(approval)} for ${agent}`} onClick=${() => send("cancel", { note })}>Withdraw</button></div></div>`;
}

/** before: what has to be done before it can be approved. @param {{approval: Approval, before: string, changed: string[]}} props */
function Decide({ approval, before, changed }) {
  const { send, busy, error } = useVerdict(approval);
  const [note, setNote] = useState("");
  const [uses, setUses] = useState("");
  const [seen, setSeen] = useState(false);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const why = barred(approval);
  const style = useHeight(box, why === "");
  useEffect(() => {
    setSeen(false);
  }, [approval.version]);
  if (why)
    return html`<div style=${style}><p class="note calm">${why}</p>${isMine(approval.requestedBy) && html`<div class="buttons"><button type="button" disabled=${busy} onClick=${() => send("cancel", {})}>Withdraw</button></div><${Problem} error=${error} />`}</div>`;
  const blocked = before || (approval.hides && !seen ? "Confirm what is hidden first" : "");
  const comparing = before.endsWith("…") ? "Comparing…" : "";
  const agent = agents.find(approval.agentId)?.name ?? approval.agentName ?? "the agent";
  const grant = { ...(uses && { uses: Number(uses) }), ...(approval.hides && { accept_hidden: seen }) };
  return html`<div class="decide" ref=${box}>
    ${changed.length > 0 && html`<p class="note" role="alert">It has changed since you opened it: ${changed.join(", ")}.</p>`}
    ${approval.hides && html`<label class="check note"><input type="checkbox" checked=${seen} onChange=${(/** @type {any} */ event) => setSeen(event.target.checked)} /> Parts are redacted or shortened. I approve without seeing everything.</label>`}
    <label class="sr" for=${`note-${approval.id}`}>Note</label><textarea id=${`note-${approval.id}`} rows="1" maxlength="2000" placeholder="Note, for the log" value=${note} onInput=${(/** @type {any} */ event) => setNote(event.target.value)}></textarea>
    ${approval.usesLeft > 1 && html`<label class="uses">How many calls <input type="number" min="1" max=${approval.usesLeft} placeholder=${String(approval.usesLeft)} value=${uses} onInput=${(/** @type {any} */ event) => setUses(event.target.value)} /></label>`}
    <${Problem} error=${error} />
    ${error instanceof Refused && /^(NOT_AN_APPROVER|SIGN_IN_TOO_OLD)$/.test(error.code) && html`<${Later} load=${() => import("./problem.js")} name="SignInAgain" approval=${approval} />`}
    <div class="verdicts"><button type="button" class="deny" disabled=${busy} aria-label=${`Deny ${inBrief(approval)} for ${agent}`} onClick=${() => send("deny", { note })}>Deny</button>
      <button type="button" class="approve" disabled=${busy || blocked !== ""} aria-label=${`Approve ${inBrief(approval)} for ${agent}${comparing && `: ${comparing}`}`} title=${blocked || undefined} onClick=${() => send("approve", { note, ...grant })}>${comparing || "Approve"}</button></div>
    <p class="small muted blocked">${blocked.endsWith("…") ? "" : blocked && `${blocked}.`}</p>
  </div>`;
}
