// What a JSON Schema says about a place in a document: the names that may stand there, and the values.

/** @typedef {any} Schema */

/** The schema at a place, with what it refers to and its alternatives. @param {Schema} root @param {Schema} schema @param {unknown} value @returns {Schema[]} */
function variants(root, schema, value) {
  if (!schema || typeof schema !== "object") return [];
  if (schema.$ref) return variants(root, resolve(root, schema.$ref), value);
  const own =
    schema.properties ||
    schema.additionalProperties ||
    schema.items ||
    schema.enum ||
    schema.const !== undefined ||
    schema.type
      ? [schema]
      : [];
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((each) => variants(root, each, value));
  const parts = (schema.allOf ?? []).flatMap((/** @type {Schema} */ each) => variants(root, each, value));
  const found = [...own, ...choices, ...parts];
  // Alternatives that a constant such as `type` rules out are not meant.
  const fit = found.filter((each) =>
    Object.entries(each.properties ?? {}).every(([name, inner]) =>
      fits(root, inner, value && typeof value === "object" ? /** @type {any} */ (value)[name] : undefined),
    ),
  );
  return fit.length ? fit : found;
}

/** @param {Schema} root @param {Schema} schema @param {unknown} value */
function fits(root, schema, value) {
  const known = schema?.$ref ? resolve(root, schema.$ref) : schema;
  return (
    value === undefined ||
    ((known?.const === undefined || known.const === value) && (known?.enum?.length !== 1 || known.enum[0] === value))
  );
}

/** @param {Schema} root @param {string} ref */
export const resolve = (root, ref) =>
  ref
    .slice(2)
    .split("/")
    .reduce((at, part) => at?.[part.replaceAll("~1", "/")], root);

/** The schemas at a path in a value. @param {Schema} root @param {unknown} value @param {(string | number)[]} path @param {Schema} [start] */
export function schemasAt(root, value, path, start = root) {
  let schemas = variants(root, start, value);
  let at = /** @type {any} */ (value);
  for (const step of path) {
    at = at?.[step];
    schemas = schemas.flatMap((schema) => {
      const inner =
        typeof step === "number"
          ? schema.items
          : (schema.properties?.[step] ??
            (typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined));
      return inner ? variants(root, inner, at) : [];
    });
  }
  return schemas;
}

/** The names that an object at a path may have, with their descriptions. @param {Schema} root @param {unknown} value @param {(string | number)[]} path @param {Schema} [start] */
export function namesAt(root, value, path, start) {
  /** @type {Map<string, string>} */
  const found = new Map();
  for (const schema of schemasAt(root, value, path, start)) {
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      const known = /** @type {Schema} */ (inner);
      found.set(name, known.description ?? (known.$ref ? resolve(root, known.$ref)?.description : undefined) ?? "");
    }
  }
  return found;
}

/** The values that a schema names, such as those of an enum. @param {Schema[]} schemas */
export function valuesOf(schemas) {
  return [
    ...new Set(
      schemas.flatMap((each) =>
        each.const !== undefined ? [each.const] : (each.enum ?? (each.type === "boolean" ? [true, false] : [])),
      ),
    ),
  ];
}
