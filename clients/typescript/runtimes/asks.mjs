// Runs in each runtime: guarded calls, and whether their tool ran.
import { Remit } from "remit-client";

/** `ran`, or the error of one guarded call; with ` and ran` after it if the tool ran all the same. */
async function ask({ url, key, timeoutMs, agent, tool, parameters, onUnavailable }) {
  let ran = "";
  const remit = new Remit({ url, key, timeoutMs, warn: () => undefined });
  try {
    await remit.guard(agent, tool, () => (ran = "ran"), { onUnavailable })(parameters);
    return ran;
  } catch (error) {
    return `${error.name}: ${error.message}${ran && " and ran"}`;
  }
}

/** A worker: the question is the body of its request. */
export default { fetch: async (request) => new Response(await ask(await request.json())) };

// A program: its argument is a file with a question on each line, and it prints an answer for each.
const { Bun, Deno, process } = globalThis;
const file = Deno ? Deno.args[0] : Bun && process.argv[2];
if (file !== undefined) {
  const questions = Deno ? await Deno.readTextFile(file) : await Bun.file(file).text();
  for (const line of questions.split("\n")) console.log(JSON.stringify(await ask(JSON.parse(line))));
  (Deno ?? process).exit(0);
}
