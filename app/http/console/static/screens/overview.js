// Overview: is it working, what changed, what waits.
import "../styles.js";
import { all, get, refusal } from "../api.js";
import { DecidedWithin, readSummary, summary, summaryError } from "../approvals_feed.js";
import { agents, policies, tools } from "../names.js";
import { Later, Problem } from "../parts/loading.js";
import { useRead } from "../parts/read.js";
import { Text, Time } from "../parts/text.js";
import { can } from "../session.js";
import { duration, now } from "../time.js";
import { to } from "../url.js";
import { html, useEffect } from "../vendor/preact.js";

// Its modules come while the page still asks who is there.
const traffic = import("../parts/traffic.js");
traffic.catch(() => {}); // who shows it is told

export function Screen() {
  useEffect(() => {
    agents.look();
    policies.look();
    tools.all;
  }, []);
  const first = useRead("first entry", async (signal) =>
    can("read", "audit") ? (await get("/v1/audit-logs", { limit: 1 }, signal)).data.length : 1,
  );
  const isNew = agents.all?.size === 0 || policies.all?.size === 0 || first.data === 0;
  return html`<div class="page"><div class="head"><h1>Overview</h1></div>
    <${Later} load=${() => import("../parts/stops.js")} name="Stops" waits /><${Health} />
    ${isNew && html`<${Later} load=${() => import("../parts/first_steps.js")} name="FirstSteps" asked=${Boolean(first.data)} again=${first.reload} />`}
    ${can("read", "audit") && !isNew && html`<${Later} load=${() => traffic} name="Traffic" waits />`}
    <div class="three"><${Waiting} /><${Shadows} /><${Inactive} /></div>
    ${can("audit") && html`<${Later} load=${() => import("../parts/changes.js")} name="Latest" />`}</div>`;
}

function Health() {
  const ready = useRead("ready", async () => {
    const answer = await fetch("/readyz", { cache: "no-store" });
    return { ok: answer.ok, why: answer.ok ? "" : (await refusal(answer)).message };
  });
  const log = useRead("log status", async (signal) =>
    can("read", "audit") ? (await get("/v1/audit-logs/status", {}, signal)).data : null,
  );
  const hooks = useRead("parked", async () =>
    can("admin") ? /** @type {Webhook[]} */ (await all("/v1/webhooks")) : [],
  );
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) {
        ready.reload();
        log.reload();
      }
    }, 15_000);
    return () => clearInterval(timer);
  }, []);
  const parked = (hooks.data ?? []).reduce((sum, each) => sum + Number(each.parked), 0);
  const lag = Number(log.data?.lagSeconds ?? 0);
  const well =
    ready.data?.ok &&
    log.error === undefined &&
    !log.data?.verification?.finding &&
    !log.data?.forks.length &&
    lag < 60 &&
    !parked;
  const known = [ready, log, hooks].every((each) => each.data !== undefined || each.error !== undefined);
  return html`<section class=${`health ${known ? "" : "unready "}${ready.data === undefined ? "" : well ? "well" : "unwell"}`} role="status"><i></i><p>
    <b>${ready.data === undefined ? "Asking…" : ready.data.ok ? (log.data && !Number(log.data.lastSequence) ? "Ready to decide." : "Decisions are being made.") : "Decisions are being refused."}</b>
    ${ready.data && !ready.data.ok && html` <${Text} value=${ready.data.why} />.`}
    ${Number(log.data?.lastSequence) > 0 && html` <span>${Number(log.data.lastSequence).toLocaleString("en")} entries in the log, ${Number(log.data.unsealed) ? `${Number(log.data.unsealed).toLocaleString("en")} not sealed yet${lag > 1 ? ` (${duration(lag)})` : ""}` : "all sealed"}.</span>`}
    ${log.data?.verification?.finding ? html` <a class="error" href=${to("log")}><b>The log is damaged.</b></a>` : log.data?.intactAt && html` <span>Intact up to entry ${Number(log.data.intactUpTo).toLocaleString("en")}, verified <${Time} at=${log.data.intactAt} />.</span>`}
    ${log.data?.forks.length > 0 && html` <a class="error" href=${to("log")}><b>What was signed is not continued.</b></a>`}
    ${log.error !== undefined && html` <b class="error">The state of the log is not known: <${Text} value=${/** @type {Error} */ (log.error).message} /></b>`}
    ${parked > 0 && html` <a href=${to("webhooks")}>${parked} events could not be delivered.</a>`}</p></section>`;
}

function Waiting() {
  if (!can("read", "approve")) return null;
  const told = summary.value;
  return html`<section class=${`card${told || summaryError.value ? "" : " unready"}`}><h2><a href=${to("approvals")}>Approvals</a></h2>${
    !told
      ? html`<${Problem} error=${summaryError.value} retry=${readSummary} />`
      : !told.oldest.length
        ? html`<p class="muted">Nothing waits for a person.</p>`
        : html`<p class="big number">${told.waiting}</p><p class="muted">${told.waiting === 1 ? "waits" : "wait"}, the oldest for ${duration(Math.max(0, (now.value - Date.parse(told.oldest[0].createdAt)) / 1000))}</p>
      <ul class="plain">${told.oldest.map((each) => html`<li><a href=${to(`approvals/${each.id}`)}><code><${Text} value=${each.toolName} /></code></a></li>`)}</ul>`
  }<${DecidedWithin} /></section>`;
}

function Shadows() {
  const shadows = [...(policies.all?.values() ?? [])].filter((each) => each.mode === "shadow");
  const key = shadows.map((each) => `${each.id} ${each.version}`).join(" ");
  const read = useRead(`shadows ${key}`, async (signal) =>
    Promise.all(
      shadows.slice(0, 10).map(async (each) => ({
        policy: each,
        total: Number((await get(`/v1/policies/${each.id}/divergence`, {}, signal)).data.total),
      })),
    ),
  );
  if (!can("read", "policies")) return null;
  const known = policies.error || read.error || (policies.all && read.data);
  return html`<section class=${`card${known ? "" : " unready"}`}><h2><a href=${to("policies")}>Policies</a></h2><${Later} load=${() => import("../parts/waiting_reviews.js")} name="ReviewsCount" waits />${read.error && html`<${Problem} error=${read.error} />`}${
    !policies.all
      ? html`<${Problem} error=${policies.error} retry=${policies.refresh} />`
      : !shadows.length
        ? html`<p class="muted">None is being tried as a shadow.</p>`
        : html`<ul class="plain">${(read.data ?? []).map(({ policy, total }) => html`<li><a href=${to(`policies/${policy.id}`, { tab: "shadow" })}><${Text} value=${policy.name} /></a> as a shadow would change ${total ? `${total.toLocaleString("en")} ${total === 1 ? "result" : "results"}` : "nothing"}</li>`)}</ul>`
  }</section>`;
}

function Inactive() {
  const found = [...(agents.all?.values() ?? [])].filter((each) => each.status !== "active");
  if (!can("read", "policies")) return null;
  return html`<section class=${`card${agents.all || agents.error ? "" : " unready"}`}><h2><a href=${to("agents")}>Agents</a></h2>${
    !agents.all
      ? html`<${Problem} error=${agents.error} retry=${agents.refresh} />`
      : !found.length
        ? html`<p class="muted">${agents.all.size > 1 ? `All ${agents.all.size} are active.` : agents.all.size ? "The only one is active." : "There is none yet."}</p>`
        : html`<ul class="plain">${found.slice(0, 6).map((each) => html`<li class="line"><a href=${to(`agents/${each.alias ?? each.id}`)}><${Text} value=${each.name} /></a><span class="spring"></span><span class="muted">${each.tripped ? "stopped by a breaker" : each.status}</span></li>`)}</ul>`
  }</section>`;
}
