/** A call's arguments as JSON, by rules that lose nothing, or an error that names the parameter. */

const MAX_DEPTH = 200;

/** A value of a call that has no JSON, or none that is read in only one way. */
export class NotJson extends TypeError {
  override readonly name = "NotJson";
}

const made = new WeakSet<object>();

/**
 * The parameters as new, frozen JSON values: what is judged, and what then runs.
 *
 * Texts, booleans, null, arrays and plain objects are taken as they are, and every property is read once. Members that
 * are undefined are left out, as JSON does. A number must be finite, and below 2^53 if it is whole; a BigInt is a whole
 * number of any size.
 * Throws NotJson for anything else, and names the parameter.
 */
export function snapshot<T>(parameters: T): T {
  if (parameters === undefined) return Object.freeze({}) as T;
  if (!isPlain(parameters)) throw new NotJson("The parameters of a call must be a plain object.");
  if (made.has(parameters)) return parameters;
  const snap = taken(parameters, "", 0) as object;
  made.add(snap);
  return snap as T;
}

/**
 * The frozen value of a JSON text that no parser can read as another.
 *
 * Throws SyntaxError for what is not JSON, and NotJson for what `snapshot` refuses, for numbers that JavaScript would
 * change, and for two names in one object that are equal or that some parsers take for one: those that differ in letter
 * case only, or from a NUL on.
 */
export function strictJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  requireUnambiguous(text);
  return taken(value, "", 0);
}

/** The same text for all names that differ only in letter case or in compatible letters. */
export function folded(name: string): string {
  let lower = "";
  // Letter by letter: in a word, the lower case of a letter can depend on its neighbours.
  for (const letter of name.normalize("NFKC").toUpperCase()) lower += letter.toLowerCase();
  return lower.replaceAll("i\u0307", "i").normalize("NFKC");
}

/** A value as JSON text. BigInts are whole numbers. */
export function write(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(write).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`).join(",")}}`;
}

function taken(value: unknown, where: string, depth: number): unknown {
  if (depth > MAX_DEPTH) refuse(where, "is nested too deep, or contains itself");
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "bigint" || value === null) {
    return value;
  }
  if (typeof value === "number") return number(value, where);
  if (Array.isArray(value)) {
    return Object.freeze(Array.from(value, (each, place) => taken(each, `${where}[${place}]`, depth + 1)));
  }
  if (!isPlain(value)) refuse(where, `is ${kindOf(value)}, for which there is no rule; pass what JSON has instead`);
  const members: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    // Where a program copies such a member with Object.assign, the members of its value are read as the object's own.
    if (name === "__proto__") refuse(where, "has a member __proto__, which programs read in more than one way");
    const member = value[name];
    if (member !== undefined) members[name] = taken(member, where ? `${where}.${name}` : name, depth + 1);
  }
  return Object.freeze(members);
}

function number(value: number, where: string): number {
  if (!Number.isFinite(value)) refuse(where, `is ${value}, which JSON does not have`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    refuse(where, "is a whole number of which JavaScript cannot tell its neighbours; pass a BigInt or a text");
  }
  return value + 0; // -0 is 0 in what is judged, and so in what runs
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of another realm, such as a test runner's or a sandbox's, has another Object.prototype.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function kindOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return value === undefined ? "undefined" : `a ${typeof value}`;
  return `a ${value.constructor?.name || "object"}`;
}

function refuse(where: string, why: string): never {
  throw new NotJson(`${where ? `Parameter "${where}"` : "The call"} ${why}.`);
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|[{}[\],:]/g;

/** Refuses what JSON.parse has read, but would have read otherwise from another text, or may be read otherwise. */
function requireUnambiguous(text: string): void {
  const objects: (Set<string> | null)[] = [];
  let last = "";
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === "{") objects.push(new Set());
    else if (token === "[") objects.push(null);
    else if (token === "}" || token === "]") objects.pop();
    else if (token === ":") requireNew(JSON.parse(last) as string, objects.at(-1) as Set<string>);
    else if (!/^[",]/.test(token)) requireExact(token);
    last = token;
  }
}

function requireNew(name: string, names: Set<string>): void {
  const plain = folded(name);
  if (names.has(plain)) throw new NotJson("An object has two members whose names are equal but for letter case.");
  if (name.includes("\0")) throw new NotJson("A name contains NUL, where some programs end it.");
  names.add(plain);
}

function requireExact(token: string): void {
  if (digits(token) !== digits(String(Number(token)))) {
    throw new NotJson("A number has more digits, or is larger, than JavaScript's numbers can have.");
  }
}

/** The value of a decimal number as a text that is the same for all its spellings. */
function digits(token: string): string {
  const [, sign, whole = "", part = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token) ?? [];
  const all = (whole + part).replace(/^0+/, "");
  const kept = all.replace(/0+$/, "");
  if (!kept) return /\d/.test(whole) ? "0" : token;
  return `${sign}${kept}e${Number(power) - part.length + all.length - kept.length}`;
}
