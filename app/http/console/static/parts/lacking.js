// What a policy that is being written still lacks, by its schema, and where something is in it, in words.
import { resolve } from "../editor/json_schema.js";

/** `windowSeconds` as "Window seconds". @param {string} name */
export const titled = (name) => {
  const spaced = name.replace(/([A-Z])/g, (_, letter) => ` ${letter.toLowerCase()}`);
  return spaced[0].toUpperCase() + spaced.slice(1);
};

/** The place in words, numbered as the cards are: `["rules", 0, "rateLimit", "maxCalls"]` is "rule 1: rate limit, max calls".
 * @param {(string | number)[]} path @returns {string} */
export function placeOf(path) {
  const [first, index, ...rest] = path;
  if (first === "rules" && typeof index === "number")
    return [`rule ${index + 1}`, placeOf(rest)].filter(Boolean).join(": ");
  return path.map((step) => (typeof step === "number" ? step + 1 : titled(step).toLowerCase())).join(", ");
}

/** The places where the schema wants something and there is nothing. What is there is the service's to judge.
 * @param {any} root @param {any} given @param {any} value @param {(string | number)[]} [path] @returns {(string | number)[][]} */
export function lacking(root, given, value, path = []) {
  const schema = variant(root, given, value);
  if (value === undefined || value === "" || (Array.isArray(value) && value.length < (schema.minItems ?? 0)))
    return value === "" && schema.type === "string" && !schema.minLength && !schema.pattern ? [] : [path];
  if (Array.isArray(value)) return value.flatMap((each, at) => lacking(root, schema.items ?? {}, each, [...path, at]));
  if (value === null || typeof value !== "object" || value.constructor !== Object) return [];
  const names = Object.keys(value);
  const isNone = (/** @type {any} */ each) =>
    each.required?.some((/** @type {string} */ name) => value[name] === undefined);
  if (
    names.length < (schema.minProperties ?? 0) ||
    [schema.anyOf, schema.oneOf].some((alternatives) => alternatives?.every(isNone))
  )
    return [path];
  return [...new Set([...(schema.required ?? []), ...names])].flatMap((name) => {
    const inner = schema.properties?.[name] ?? schema.additionalProperties;
    return inner && typeof inner === "object" ? lacking(root, inner, value[name], [...path, name]) : [];
  });
}

/** The schema itself; of several by `type`, the one of this value; of others that cannot be told apart, none. @param {any} root @param {any} given @param {any} value */
function variant(root, given, value) {
  const schema = (given?.$ref ? resolve(root, given.$ref) : given) ?? {};
  if (!schema.discriminator) return schema;
  const { propertyName, mapping } = schema.discriminator;
  const ref = mapping[value?.[propertyName]];
  return ref ? resolve(root, ref) : {};
}
