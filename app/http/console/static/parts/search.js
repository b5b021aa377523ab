// Search: screens, agents, policies, tools, approvals, keys, webhooks and entries, by name or id, from any screen.
import "../styles.js";
import { get } from "../api.js";
import { Icon } from "../icons.js";
import { searchShown } from "../keys.js";
import { agents, keys, policies, tools } from "../names.js";
import { can } from "../session.js";
import { go, to } from "../url.js";
import { html, useEffect, useState } from "../vendor/preact.js";
import { useModal } from "./modal.js";
import { useRead } from "./read.js";
import { Text } from "./text.js";

/** @typedef {{icon: string, kind: string, name: string, also?: string, href: string}} Found */
const OF_A_KIND = 6;
/** Of the calls that wait, so many are looked through. */
const MOST = 1000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** How far an entry may be from the time in its id, as where the service looks for it. */
const NEAR_MS = 5000;

/** How well a text matches: 0 = a whole word's beginning in a name, 1 = somewhere, null = not. @param {string} text @param {(string | null | undefined)[]} words */
function match(text, ...words) {
  const found = words.filter(Boolean).join(" ").toLowerCase();
  const at = found.indexOf(text);
  return at < 0 ? null : at === 0 || /[^\p{L}\p{N}]/u.test(found[at - 1]) ? 0 : 1;
}

/** Those that match, the best first. @template T @param {Iterable<T>} items @param {(item: T) => number | null} rank @param {(item: T) => Found} found */
function best(items, rank, found) {
  const ranked = [];
  for (const item of items) {
    const at = rank(item);
    if (at !== null) ranked.push({ at, item });
  }
  return ranked
    .sort((a, b) => a.at - b.at)
    .slice(0, OF_A_KIND)
    .map(({ item }) => found(item));
}

/** The entry or the approval with this id, if the session may read it. @param {string} id @param {AbortSignal} signal @returns {Promise<Found[]>} */
async function byId(id, signal) {
  const called = parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  const near = { from: new Date(called - NEAR_MS).toISOString(), to: new Date(called + NEAR_MS).toISOString() };
  const entries = can("read", "audit") ? (await get("/v1/audit-logs", { id, ...near, limit: 1 }, signal)).data : [];
  if (entries.length)
    return entries.map((/** @type {Entry} */ each) => ({
      icon: "decisions",
      kind: each.type ?? each.result ?? "entry",
      name: each.toolName,
      also: id,
      href: to("decisions", { entry: id }),
    }));
  if (!can("read", "approve")) return [];
  const approval = (await get(`/v1/approvals/${id}`, {}, signal).catch(() => ({ data: null }))).data;
  return approval ? [ofApproval(approval)] : [];
}

/** @param {Summary["oldest"][0] & {status?: string}} each @returns {Found} */
const ofApproval = (each) => ({
  icon: "approvals",
  kind: `approval, ${each.status ?? "pending"}`,
  name: each.toolName,
  also: agents.find(each.agentId)?.name ?? each.agentName ?? each.agentId,
  href: to(`approvals/${each.id}`),
});

/** What is known of a text without asking. @param {string} text @param {{path: string, name: string}[]} screens @param {Summary["oldest"]} waiting @param {Webhook[]} hooks @returns {Found[]} */
function known(text, screens, waiting, hooks) {
  const name = (/** @type {string | null} */ id) => agents.find(id)?.name;
  return [
    ...best(
      screens,
      (each) => match(text, each.name),
      (each) => ({ icon: each.path || "overview", kind: "screen", name: each.name, href: to(each.path) }),
    ),
    ...best(
      agents.all?.values() ?? [],
      (each) => match(text, each.name, each.alias, each.id, ...each.groups),
      (each) => ({
        icon: "agents",
        kind: "agent",
        name: each.name,
        also: each.alias ?? each.id,
        href: to(`agents/${each.alias ?? each.id}`),
      }),
    ),
    ...best(
      policies.all?.values() ?? [],
      (each) => match(text, each.name, each.key, each.id, each.group, name(each.agentId)),
      (each) => ({
        icon: "policies",
        kind: each.kind,
        name: each.name,
        also: name(each.agentId) ?? each.group ?? "workspace",
        href: to(`policies/${each.id}`),
      }),
    ),
    ...best(waiting, (each) => match(text, each.toolName, each.id, name(each.agentId), each.agentName), ofApproval),
    ...best(
      tools.all?.values() ?? [],
      (each) => match(text, each.name),
      (each) => ({
        icon: "catalog",
        kind: "calls of the tool",
        name: each.name,
        href: to("decisions", { tool_name: each.name }),
      }),
    ),
    ...best(
      keys.all?.values() ?? [],
      (each) => match(text, each.name, each.prefix, each.id),
      (each) => ({
        icon: "keys",
        kind: "key",
        name: each.name,
        also: `${each.prefix}…`,
        href: to("keys", { q: each.id }),
      }),
    ),
    ...best(
      hooks,
      (each) => match(text, each.url, each.id, ...each.events),
      (each) => ({ icon: "webhooks", kind: "webhook", name: each.url, href: to("webhooks", { q: each.id }) }),
    ),
  ];
}

/** @param {{screens: {path: string, name: string}[]}} props */
export function Search({ screens }) {
  const dialog = useModal();
  const [given, setGiven] = useState("");
  const [at, setAt] = useState(0);
  const [waiting, setWaiting] = useState(/** @type {Summary["oldest"]} */ ([]));
  useEffect(() => {
    if (can("read", "approve"))
      get("/v1/approvals/summary", { calls: MOST }).then(
        ({ data }) => setWaiting(data.oldest),
        () => {},
      );
  }, []);
  const hooks = useRead(
    "webhooks",
    async (signal) => (can("admin") ? (await get("/v1/webhooks", {}, signal)).data : []),
    { once: true },
  );
  const text = given.trim().toLowerCase();
  const here = text ? known(text, screens, waiting, hooks.data ?? []) : [];
  const asked = UUID.test(text) && !here.length ? text : "";
  const read = useRead(`search ${asked}`, async (signal) => (asked ? byId(asked, signal) : []), { once: true });
  /** @type {Found} */
  const log = {
    icon: "decisions",
    kind: "decisions with the text",
    name: given.trim(),
    href: to("decisions", { q: given.trim() }),
  };
  const found = [...here, ...(read.data ?? []), ...(text && can("read", "audit") ? [log] : [])];
  const chosen = Math.min(at, found.length - 1);
  const close = () => {
    searchShown.value = false;
  };
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && found.length) {
      event.preventDefault();
      setAt((chosen + by + found.length) % found.length);
    } else if (event.key === "Enter" && found[chosen]) {
      event.preventDefault();
      close();
      go(found[chosen].href);
    }
  };
  useEffect(() => {
    document.getElementById(`found-${chosen}`)?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return html`<dialog class="dialog search" ref=${dialog} aria-label="Search everything"
      onClick=${(/** @type {MouseEvent} */ event) => event.target === dialog.current && close()}
      onCancel=${(/** @type {Event} */ event) => {
        event.preventDefault();
        close();
      }}>
    <input type="search" autofocus role="combobox" aria-expanded=${found.length > 0} aria-controls="found" aria-autocomplete="list" aria-activedescendant=${found.length ? `found-${chosen}` : undefined}
      aria-label="Search everything" placeholder="Agent, policy, tool, approval, key or id" autocomplete="off" spellcheck=${false} maxlength="255" value=${given}
      onInput=${(/** @type {any} */ event) => {
        setGiven(event.target.value);
        setAt(0);
      }} onKeyDown=${pressed} />
    <ul id="found" role="listbox" aria-label="Found">${found.map(
      (
        each,
        index,
      ) => html`<li id=${`found-${index}`} role="option" aria-selected=${index === chosen} onMouseMove=${() => setAt(index)} onClick=${() => {
        close();
        go(each.href);
      }}>
      <${Icon} name=${each.icon} /><b><${Text} value=${each.name} /></b>${each.also && html`<span class="muted"><${Text} value=${each.also} /></span>`}<span class="spring"></span><span class="small muted">${each.kind}</span></li>`,
    )}</ul>
    ${read.error && html`<p class="muted"><${Text} value=${/** @type {Error} */ (read.error).message} /></p>`}
    <p class="small muted"><kbd>↑</kbd> <kbd>↓</kbd> choose, <kbd>Enter</kbd> open, <kbd>Esc</kbd> close</p></dialog>`;
}
