// Webhooks: where events go, whether they arrive, and those that wait.
import "../styles.js";
import { ask, get } from "../api.js";
import { Icon } from "../icons.js";
import { AgentName, PolicyName } from "../names.js";
import { Action } from "../parts/action.js";
import { Confirm } from "../parts/confirm.js";
import { Form } from "../parts/form.js";
import { Empty, Problem, Skeleton } from "../parts/loading.js";
import { useRead } from "../parts/read.js";
import { Secret } from "../parts/secret.js";
import { Pill, Tag, Text, Time } from "../parts/text.js";
import { param, setParams } from "../url.js";
import { html, useState } from "../vendor/preact.js";

const EVENTS = [
  "approval.requested",
  "approvals.filling",
  "approval.decided",
  "approval.expired",
  "agent.suspended",
  "policy.changed",
  "policy_review.requested",
  "decision.denied",
  "audit.verification_failed",
  "access_request.completed",
];

/** @type {[string, string][]} */
const NARROWED = [
  ["agents", "Agents, by alias or id"],
  ["groups", "Groups of agents"],
  ["tools", "Tools"],
  ["policies", "Policies, by id"],
  ["codes", "Codes, such as quota_full"],
];

export function Screen() {
  const read = useRead(
    "webhooks",
    async (signal) => /** @type {Webhook[]} */ ((await get("/v1/webhooks", {}, signal)).data),
  );
  const [making, setMaking] = useState(false);
  const [secret, setSecret] = useState(/** @type {string | null} */ (null));
  const text = param("q").toLowerCase();
  const shown = (read.data ?? []).filter((each) =>
    `${each.url} ${each.events.join(" ")} ${each.id}`.toLowerCase().includes(text),
  );
  return html`<div class="page"><div class="head"><h1>Webhooks</h1><span class="spring"></span><button type="button" class="primary" onClick=${() => setMaking(true)}><${Icon} name="plus" />New webhook</button></div>
    <${Problem} error=${!read.data && read.error} retry=${read.reload} />
    ${
      !read.data
        ? read.slow && html`<${Skeleton} />`
        : read.data.length
          ? html`<div class="chips"><input type="search" data-filter aria-label="Filter" placeholder="Address, event or id" value=${param("q")} onInput=${(/** @type {any} */ event) => setParams({ q: event.target.value })} /></div>${shown.length ? shown.map((each) => html`<${One} key=${each.id} webhook=${each} reload=${read.reload} reveal=${setSecret} />`) : html`<${Empty} icon="webhooks" title="Nothing matches" />`}`
          : html`<${Empty} icon="webhooks" title="No webhook yet"><p>A webhook sends events, such as a new approval, to an address of yours, and signs them.</p><//>`
    }
    ${
      making &&
      html`<${New} close=${() => setMaking(false)} made=${(/** @type {string} */ text) => {
        setMaking(false);
        setSecret(text);
        read.reload();
      }} />`
    }
    ${secret && html`<${Secret} title="The webhook's secret" lines=${[["To check signatures with", secret]]} close=${() => setSecret(null)} />`}</div>`;
}

/** @param {{close: () => void, made: (secret: string) => void}} props */
function New({ close, made }) {
  const [events, setEvents] = useState(["approval.requested"]);
  const [only, setOnly] = useState(/** @type {Record<string, string>} */ ({}));
  return html`<${Form} title="New webhook" button="Create" close=${close} fields=${[
    { name: "url", label: "Address", required: true, type: "url" },
    {
      name: "format",
      label: "Format",
      options: [
        ["standard", "Standard Webhooks, signed JSON"],
        ["slack", "Slack message"],
        ["teams", "Teams card"],
      ],
      value: "standard",
    },
  ]}
    send=${async (/** @type {Record<string, string>} */ given, /** @type {string} */ reason) => made((await ask("POST", "/v1/webhooks", { body: { ...given, events, only: narrowed(only) }, reason })).data.secret)}>
    <fieldset><legend>Events</legend>${EVENTS.map((each) => html`<label class="check"><input type="checkbox" checked=${events.includes(each)} onChange=${() => setEvents((before) => (before.includes(each) ? before.filter((other) => other !== each) : [...before, each]))} /><code>${each}</code></label>`)}</fieldset>
    <details><summary>Only some of them</summary><p class="field-note">Several are separated by commas; a tool may be <code>prefix*</code>.</p>${NARROWED.map(
      ([name, label]) =>
        html`<label>${label}<input autocomplete="off" value=${only[name] ?? ""} onInput=${(/** @type {any} */ event) => setOnly({ ...only, [name]: event.target.value })} /></label>`,
    )}</details><//>`;
}

/** What narrows the events, as the service takes it; null if nothing does. @param {Record<string, string>} given */
function narrowed(given) {
  const lists = Object.entries(given).map(([name, text]) => [
    name,
    text
      .split(",")
      .map((each) => each.trim())
      .filter(Boolean),
  ]);
  const said = lists.filter(([, list]) => list.length);
  return said.length ? Object.fromEntries(said) : null;
}

/** @param {{webhook: Webhook, reload: () => void, reveal: (secret: string) => void}} props */
function One({ webhook: given, reload, reveal }) {
  const [told, setTold] = useState(given);
  const webhook = told.version > given.version ? told : given; // the next press may come before the list
  const [open, setOpen] = useState(false);
  const [tries, setTries] = useState(false);
  const [tried, setTried] = useState(/** @type {any} */ (null));
  const [asking, setAsking] = useState(/** @type {null | "delete" | "rotate"} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const path = `/v1/webhooks/${given.id}`;
  // Somebody else may have changed it: the next press is on what they have made of it.
  const failed = (/** @type {unknown} */ problem) => {
    setError(problem);
    if (problem) reload();
  };
  const again = (/** @type {unknown} */ problem) => {
    reload();
    throw problem;
  };
  const turn = (/** @type {boolean} */ enabled) => async () => {
    if (enabled !== webhook.enabled) {
      setTold((await ask("PATCH", path, { body: { enabled }, ifMatch: webhook.version })).data);
      reload();
    }
  };
  return html`<section class="card stack webhook"><header class="line"><b><${Text} value=${new URL(webhook.url).host} /></b><${Tag}>${webhook.format}<//>${!webhook.enabled && html`<${Pill} is="off" />`}<span class="spring"></span>
      <${Action} failed=${failed} act=${async () => setTried((await ask("POST", `${path}/test`, { body: {} })).data)}>Send a test<//>
      <div class="switch" role="group" aria-label="Sending">${[true, false].map((enabled) => html`<${Action} failed=${failed} aria-pressed=${enabled === webhook.enabled} act=${turn(enabled)}>${enabled ? "On" : "Off"}<//>`)}</div>
      <button type="button" class="quiet" onClick=${() => setAsking("rotate")}>New secret…</button><button type="button" class="quiet" onClick=${() => setAsking("delete")}>Delete…</button></header>
    <p><code class="value"><${Text} value=${webhook.url} /></code></p><p>${webhook.events.map((each) => html`<${Tag}>${each}<//> `)}</p>
    ${webhook.only && html`<${Narrowed} only=${webhook.only} />`}
    <p class="line"><span><b class="number">${webhook.delivered}</b> delivered</span><span><b class="number">${webhook.waiting}</b> waiting</span><span class=${Number(webhook.parked) ? "error" : ""}><b class="number">${webhook.parked}</b> parked</span>${Number(webhook.lost) > 0 && html`<span class="error"><b class="number">${webhook.lost}</b> lost</span>`}
      <button type="button" class="link" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Hide" : "Show"} undelivered events</button>
      <button type="button" class="link" aria-expanded=${tries} onClick=${() => setTries(!tries)}>${tries ? "Hide" : "Show"} attempts</button></p>
    ${webhook.lastError && html`<p class=${`small ${Number(webhook.waiting) + Number(webhook.parked) ? "error" : "muted"}`}>Last error: <${Text} value=${webhook.lastError} /></p>`}
    ${tried && html`<p class=${`note${tried.delivered ? " calm" : ""}`} role="status">${tried.delivered ? `Delivered in ${tried.milliseconds} ms, the receiver answered ${tried.status}.` : html`Not delivered: <${Text} value=${tried.error} />`}</p>`}
    <${Problem} error=${error} />
    ${open && html`<${Undelivered} path=${path} reload=${reload} />`}
    ${tries && html`<${Attempts} path=${path} />`}
    ${
      asking === "delete" &&
      html`<${Confirm} title="Delete the webhook" button="Delete" danger close=${() => setAsking(null)} act=${async (
        /** @type {string} */ reason,
      ) => {
        await ask("DELETE", path, { reason, ifMatch: webhook.version }).catch(again);
        reload();
      }}><p>No event goes to ${new URL(webhook.url).host} from now on.${Number(webhook.waiting) + Number(webhook.parked) > 0 && ` Those not delivered yet, ${Number(webhook.waiting) + Number(webhook.parked)}, are dropped.`}</p><//>`
    }
    ${
      asking === "rotate" &&
      html`<${Confirm} title="New secret" button="Make it" close=${() => setAsking(null)} act=${async (
        /** @type {string} */ reason,
      ) => {
        const { data } = await ask("POST", `${path}/rotate-secret`, { body: { overlapSeconds: 86_400 }, reason });
        setAsking(null);
        reveal(data.secret);
        reload();
      }}><p>For one day events are signed with both secrets.</p><//>`
    }</section>`;
}

/** Which events are sent, by names. @param {{only: NonNullable<Webhook["only"]>}} props */
function Narrowed({ only: { sample, ruleTypes, ...lists } }) {
  const one = (/** @type {string} */ name, /** @type {string} */ value) =>
    name === "agents"
      ? html`<${AgentName} id=${value} link />`
      : name === "policies"
        ? html`<${PolicyName} id=${value} />`
        : html`<${Text} value=${value} />`;
  const named = Object.entries({ ...lists, ...(ruleTypes && { "rules of type": ruleTypes }) });
  return html`<p class="small muted">Only ${named.map(([name, values], place) => html`${place > 0 && "; "}${name} ${values.map((value, at) => html`${at > 0 && " or "}${one(name, value)}`)}`)}${sample !== undefined && html`${named.length > 0 && "; "}${+(100 * Number(sample)).toPrecision(12)} % of denials`}</p>`;
}

/** @param {{path: string, reload: () => void}} props */
function Undelivered({ path, reload }) {
  const read = useRead(
    `undelivered ${path}`,
    async (signal) => /** @type {Unsent[]} */ ((await get(`${path}/events`, {}, signal)).data),
  );
  const [error, setError] = useState(/** @type {unknown} */ (null));
  if (!read.data) return read.error ? html`<${Problem} error=${read.error} />` : html`<${Skeleton} rows=${2} />`;
  const retry = (/** @type {string | undefined} */ event) => async () => {
    await ask("POST", `${path}/retry`, { body: { event } });
    read.reload();
    reload();
  };
  if (!read.data.length) return html`<p class="muted">Every event was delivered.</p>`;
  return html`<${Problem} error=${error} /><div class="list">${read.data.map(
    (
      each,
    ) => html`<div class="item"><header><${Pill} is=${each.status} /><code>${each.type}</code><span class="muted small">${each.attempts} ${Number(each.attempts) === 1 ? "attempt" : "attempts"}${each.nextAttemptAt ? html`, next <${Time} at=${each.nextAttemptAt} />` : ""}</span><span class="spring"></span><${Action} failed=${setError} act=${retry(each.id)}>Retry<//></header>
    <p class="small"><${Text} value=${each.error} /></p></div>`,
  )}</div><div class="buttons start"><${Action} failed=${setError} act=${retry(undefined)}>Retry all<//></div>`;
}

/** The latest attempts, newest first. @param {{path: string}} props */
function Attempts({ path }) {
  const read = useRead(
    `deliveries ${path}`,
    async (signal) => /** @type {Delivery[]} */ ((await get(`${path}/deliveries`, {}, signal)).data),
  );
  if (!read.data)
    return read.error ? html`<${Problem} error=${read.error} retry=${read.reload} />` : html`<${Skeleton} rows=${2} />`;
  if (!read.data.length) return html`<p class="muted">Nothing was sent yet, besides tests.</p>`;
  return html`<div class="list">${read.data.map(
    (
      each,
    ) => html`<div class="item" key=${`${each.eventId} ${each.at}`}><header><${Pill} is=${each.delivered ? "delivered" : "failed"} /><code>${each.type}</code><span class="muted small">attempt ${each.attempt}${each.status !== null ? `, answered ${each.status}` : ""} in ${each.milliseconds} ms</span><span class="spring"></span><span class="muted small"><${Time} at=${each.at} /></span></header>
    ${each.error && html`<p class="small"><${Text} value=${each.error} /></p>`}</div>`,
  )}</div>`;
}
