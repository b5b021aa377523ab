// Which rule of one version of a policy is which of another, and what two people have made of the same version.
import { write } from "../exact.js";
import { leaves } from "../leaves.js";

const text = (/** @type {unknown} */ value) => write(value ?? null, 0);
const isSame = (/** @type {unknown} */ a, /** @type {unknown} */ b) => text(a) === text(b);

/** How much of two rules is the same. @param {any} a @param {any} b */
function likeness(a, b) {
  const has = new Set(leaves(a).map((leaf) => `${leaf.path} ${text(leaf.value)}`));
  return leaves(b).filter((leaf) => has.has(`${leaf.path} ${text(leaf.value)}`)).length;
}

/** For each rule after, the place that it had before, null if it is new: the same rule, else the likest one of its type.
 * @param {any[]} before @param {any[]} after @returns {(number | null)[]} */
export function origins(before, after) {
  const left = new Set(before.keys());
  /** @type {(number | null)[]} */
  const found = after.map(() => null);
  const take = (/** @type {number} */ at, /** @type {number | undefined} */ from) => {
    if (from === undefined) return;
    found[at] = from;
    left.delete(from);
  };
  after.forEach((rule, at) =>
    take(
      at,
      [...left].sort((a, b) => Math.abs(a - at) - Math.abs(b - at)).find((from) => isSame(before[from], rule)),
    ),
  );
  after.forEach((rule, at) => {
    if (found[at] !== null) return;
    const [best] = [...left]
      .filter((from) => before[from].type === rule.type)
      .map((from) => ({ from, score: likeness(before[from], rule) - Math.abs(from - at) / 100 }))
      .sort((a, b) => b.score - a.score);
    take(at, best?.from);
  });
  return found;
}

/** Their version with what I changed and they did not, and what of mine is not in it: names of fields, and my rules by number.
 * @param {any} base what both began with @param {any} theirs @param {any} mine @returns {{policy: any, lost: string[]}} */
export function merged(base, theirs, mine) {
  const policy = { ...theirs };
  /** @type {string[]} */
  const lost = [];
  for (const name of new Set([...Object.keys(base), ...Object.keys(mine)])) {
    if (name === "rules" || isSame(mine[name], base[name]) || isSame(mine[name], theirs[name])) continue;
    if (!isSame(theirs[name], base[name])) lost.push(name);
    else if (mine[name] === undefined) delete policy[name];
    else policy[name] = mine[name];
  }
  const rules = mergedRules(base.rules ?? [], theirs.rules ?? [], mine.rules ?? []);
  return { policy: { ...policy, rules: rules.list }, lost: [...lost, ...rules.lost] };
}

/** @param {any[]} base @param {any[]} theirs @param {any[]} mine */
function mergedRules(base, theirs, mine) {
  if (isSame(theirs, base) || isSame(theirs, mine)) return { list: mine, lost: [] };
  const [fromTheirs, fromMine] = [origins(base, theirs), origins(base, mine)];
  /** @type {string[]} */
  const lost = [];
  /** The merged rules with my place of each that I have, too. @type {{rule: any, at: number}[]} */
  const list = [];
  theirs.forEach((rule, place) => {
    const from = fromTheirs[place];
    const at = from === null ? mine.findIndex((each) => isSame(each, rule)) : fromMine.indexOf(from);
    const isTheirs = from === null || !isSame(rule, base[from]);
    if (at < 0 && from !== null && !isTheirs) return; // I have removed it
    const changed = at >= 0 && from !== null && !isSame(mine[at], base[from]) && !isSame(mine[at], rule);
    if (changed && isTheirs) lost.push(`rule ${at + 1}`);
    if (at < 0 && from !== null) lost.push(`the removal of ${rule.type}`);
    list.push({ rule: changed && !isTheirs ? mine[at] : rule, at });
  });
  mine.forEach((rule, at) => {
    const from = fromMine[at];
    if (list.some((each) => each.at === at)) return;
    if (from !== null) {
      if (!isSame(rule, base[from])) lost.push(`rule ${at + 1}`); // they have removed it
      return;
    }
    const after = list.findLastIndex((each) => each.at >= 0 && each.at < at);
    list.splice(after + 1, 0, { rule, at });
  });
  return { list: list.map(({ rule }) => rule), lost };
}
