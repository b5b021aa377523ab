// A policy while it is being written: its text, what the service says about it, and how it differs from what is stored.
import { ask, get, Refused } from "./api.js";
import { parse, write } from "./exact.js";
import { useEffect, useMemo, useState } from "./vendor/preact.js";

/** @typedef {{path: (string | number)[], message: string, warning: boolean, code?: string}} Mark */

/** Which policy it is, and who manages it, which has a button of its own. All other fields of the schema are the author's. */
const NOT_WRITTEN = ["id", "agentId", "group", "version", "createdAt", "updatedAt", "managedBy"];
export const NEW = { name: "", rules: [{ type: "tool_grant", tools: [] }] };

/** The name under which this tab of the browser keeps a policy that is not saved yet. @param {string | undefined} id */
const nameOf = (id) => (id ? `remit.policy.${id}` : "remit.new-policy");

/** A text that is not saved yet, and the version of the policy that it was made from; null if there is none.
 * @param {string} [id] @returns {{version: number, text: string} | null} */
export function unsaved(id) {
  const kept = sessionStorage.getItem(nameOf(id));
  return kept === null ? null : JSON.parse(kept);
}

/** Keep a text until it is saved; null forgets it. @param {string | undefined} id @param {number} version @param {string | null} text */
export function keepUnsaved(id, version, text) {
  if (text === null) sessionStorage.removeItem(nameOf(id));
  else sessionStorage.setItem(nameOf(id), JSON.stringify({ version, text }));
}

/** The author's fields by name, the rules last; null until the schema has been read. @type {[string, any][] | null} */
let fields = null;

/** Read the schema of policies; what is written of one is known from then on. @param {AbortSignal} [signal] */
export async function readSchema(signal) {
  const { data } = await get("/v1/policies/schema.json", {}, signal);
  const { rules, ...others } = data.$defs.PolicyEntry.properties;
  fields = Object.entries({ ...others, rules }).filter(([name]) => !NOT_WRITTEN.includes(name));
  return data;
}

/** The author's fields, with their schemas. */
export function authored() {
  if (!fields) throw new Error("the schema of policies has not been read");
  return fields;
}

/** What an author wrote of a policy: what is not as it would be without a word. @param {any} policy */
export const written = (policy) =>
  Object.fromEntries(
    authored()
      .filter(([name, schema]) => policy[name] !== undefined && policy[name] !== schema.default)
      .map(([name]) => [name, policy[name]]),
  );

/** All policies of an owner, as they are sent, with a draft in place of the one with its id. @param {Policy[]} own @param {any} draft */
export const together = (own, draft) => [
  ...own.filter((each) => each.id !== draft.id).map((each) => ({ ...written(each), id: each.id })),
  draft,
];

/** The value that each field has which an author leaves out. */
export const unwritten = () =>
  Object.fromEntries(
    authored()
      .filter(([, schema]) => schema.default !== undefined)
      .map(([name, schema]) => [name, schema.default]),
  );

/** `$.policies[0].rules[1].parameters.amount` as steps inside the policy. @param {string} path @returns {(string | number)[]} */
export function steps(path) {
  const found = [
    ...path.replace(/^\$?\.?policies\[\d+\]/, "").matchAll(/\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|\.?([^.[\]]+)/g),
  ];
  return found.map(([, index, quoted, name]) => (index !== undefined ? Number(index) : (quoted ?? name)));
}

/** The text as a policy, or why it is none. @param {string} text @returns {{policy?: any, error?: string}} */
function read(text) {
  try {
    return { policy: parse(text) };
  } catch (error) {
    return { error: /** @type {Error} */ (error).message };
  }
}

/** active: whether the service is asked about it, which it never is about a new policy as it begins. @param {string} first @param {{agentId?: string | null, group?: string | null, id?: string}} owner @param {boolean} [active] */
export function useDraft(first, owner, active = true) {
  const [text, setText] = useState(first);
  const [verdict, setVerdict] = useState(/** @type {{of: string, marks: Mark[], valid: boolean} | null} */ (null));
  const { policy, error } = useMemo(() => read(text), [text]);
  const untouched = !owner.id && text === write(NEW);
  const of = `${owner.agentId} ${owner.group} ${text}`;
  useEffect(() => {
    if (!policy || !active || untouched) return undefined;
    const stop = new AbortController();
    const lint = async () => {
      const entry = { ...policy, ...(owner.id && { id: owner.id }) };
      const body = {
        policies: [entry],
        ...(owner.agentId && { agent_id: owner.agentId }),
        ...(owner.group && { group: owner.group }),
      };
      try {
        const { data } = await ask("POST", "/v1/policies/lint", { body, signal: stop.signal });
        setVerdict({
          of,
          valid: true,
          marks: data.warnings.map((/** @type {any} */ each) => ({
            path: steps(each.path),
            message: each.message,
            warning: true,
            code: each.code,
          })),
        });
      } catch (problem) {
        if (stop.signal.aborted || !(problem instanceof Refused)) return;
        const details = problem.details.length ? problem.details : [{ path: "", message: problem.message }];
        setVerdict({
          of,
          valid: false,
          marks: details.map((each) => ({ path: steps(each.path), message: each.message, warning: false })),
        });
        if ([0, 429, 503].includes(problem.status)) timer = setTimeout(lint, 2000); // it said nothing about the text
      }
    };
    let timer = setTimeout(lint, 400);
    // An answer about an older text is dropped.
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [of, active]);
  const current = verdict?.of === of ? verdict : null;
  return {
    text,
    setText,
    policy,
    error,
    untouched,
    marks: current?.marks ?? NONE,
    valid: current?.valid ?? false,
    checked: current !== null,
    set: (/** @type {any} */ next) => setText(write(next)),
  };
}

/** @type {Mark[]} */
const NONE = [];
