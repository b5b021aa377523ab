// For browsers that do not say how a number was written: such numbers are marked before the text is parsed.

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MARK = crypto.randomUUID();

/** Parses JSON; numbers whose digits would change become what is made of them.
 * @param {new (source: string) => unknown} Exact @returns {(text: string) => any} */
export const parserOf = (Exact) => (text) => {
  const marked = text.replace(TOKENS, (token) =>
    token[0] === '"' || String(Number(token)) === token ? token : `{"${MARK}":"${token}"}`,
  );
  return JSON.parse(marked, (_, value) =>
    value !== null && typeof value === "object" && MARK in value ? new Exact(value[MARK]) : value,
  );
};
