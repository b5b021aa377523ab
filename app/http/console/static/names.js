// Names of agents, policies and keys for their ids, as people know them; read once, and again when an id is unknown.
import { get, noteStale, Refused, whenSeen } from "./api.js";
import { Text } from "./parts/text.js";
import { can } from "./session.js";
import { to } from "./url.js";
import { html, signal } from "./vendor/preact.js";

/** @template T @typedef {{all: Map<string, T> | null, error: unknown, find(id: string | null | undefined): T | undefined, look(): Promise<void>, refresh(): Promise<void>}} Directory */

const [PAGE, MOST] = [1000, 10_000];

/** @template T @param {string} path @param {(item: T) => string} idOf @param {() => boolean} may */
function directory(path, idOf, may) {
  const known = signal(/** @type {Map<string, T> | null} */ (null));
  const error = signal(/** @type {unknown} */ (null));
  let [last, turn] = [0, 0];
  let newest = Promise.resolve();
  const load = () => (!may() || Date.now() - last < 5000 ? newest : (newest = read(++turn)));
  /** Ends once the newest reading has ended. @param {number} mine @returns {Promise<void>} */
  const read = async (mine) => {
    last = Date.now() + 25_000; // one that hangs keeps others away for 30 s
    try {
      const found = /** @type {Map<string, T>} */ (new Map());
      for (let offset = 0; offset < MOST; offset += PAGE) {
        const { data } = await get(path, { limit: PAGE, offset });
        for (const item of data) found.set(idOf(item), item);
        if (data.length < PAGE) break;
      }
      if (mine !== turn) return newest; // which knows more
      known.value = found;
      error.value = null;
      noteStale(path);
    } catch (problem) {
      if (mine !== turn) return newest;
      error.value = problem; // ids are shown instead
      if (known.value) noteStale(path, problem);
      if (problem instanceof Refused && [0, 503].includes(problem.status)) setTimeout(load, 6000);
    }
    last = Date.now();
  };
  whenSeen(() => {
    if (known.value) {
      last = 0;
      load();
    }
  });
  return {
    /** Why it could not be read, null if it was. */
    get error() {
      return error.value;
    },
    /** Null until it has been read. */
    get all() {
      if (known.value === null) load();
      return known.value;
    },
    /** The item, undefined while it is not known. @param {string | null | undefined} id */
    find(id) {
      const found = id ? known.value?.get(id) : undefined;
      if (id && !found) load();
      return found;
    },
    /** Read again, unless it just was. */
    look: load,
    /** Read again. */
    refresh() {
      last = 0;
      return load();
    },
  };
}

/** @type {Directory<Agent>} */
export const agents = directory(
  "/v1/agents",
  (each) => each.id,
  () => can("read", "policies"),
);
/** @type {Directory<Policy>} */
export const policies = directory(
  "/v1/policies",
  (each) => each.id,
  () => can("read", "policies"),
);
/** @type {Directory<ApiKey>} */
export const keys = directory(
  "/v1/api-keys",
  (each) => each.id,
  () => can("admin"),
);
/** @type {Directory<Tool>} */
export const tools = directory(
  "/v1/catalog",
  (each) => each.name,
  () => can("read", "policies"),
);

/** What an agent is called in an address: its alias, else its id. @param {string} id */
export const agentRef = (id) => agents.find(id)?.alias ?? id;

/** An agent's name, or the end of its id, which begins with the time. named: as something else says it, for those who may
 * not read agents. @param {{id: string, named?: string | null, link?: boolean}} props */
export function AgentName({ id, named, link = false }) {
  const agent = agents.find(id);
  const called = agent?.name ?? named;
  const name = called ? html`<${Text} value=${called} />` : html`<code class="id" title=${id}>…${id.slice(-8)}</code>`;
  return link ? html`<a href=${to(`agents/${agent?.alias ?? id}`)}>${name}</a>` : name;
}

/** @param {{id: string | null, named?: string | null, link?: boolean}} props */
export function PolicyName({ id, named, link = true }) {
  if (!id) return html`<span class="muted">none</span>`;
  const called = policies.find(id)?.name ?? named;
  const name = called ? html`<${Text} value=${called} />` : html`<code class="id" title=${id}>…${id.slice(-8)}</code>`;
  return link ? html`<a href=${to(`policies/${id}`)}>${name}</a>` : name;
}

/** @param {{id: string}} props */
export function KeyName({ id }) {
  const key = keys.find(id);
  return key ? html`<${Text} value=${key.name} />` : html`<code class="id" title=${id}>…${id.slice(-8)}</code>`;
}
