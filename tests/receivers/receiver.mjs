// Reads each line of its input as a service in Node would, and writes the calls that it would run: [tool, amount].
// A line is the way in, a tab, and the body of the request.
import { createInterface } from "node:readline";

const evaluated = ({ action, resource }) => [`${resource.type}.${action.name}`, resource.properties?.amount];
const READ = {
  authorize: (body) => [[body.tool_name, body.parameters?.amount]],
  batch: (body) => body.calls.map((call) => [call.tool_name, call.parameters?.amount]),
  hook: (body) => [[body.tool_name, body.tool_input?.amount]],
  evaluation: (body) => [evaluated(body)],
  evaluations: (body) => body.evaluations.map(evaluated),
};

for await (const line of createInterface({ input: process.stdin })) {
  const [, way, body] = /^(\w+)\t(.*)$/s.exec(line);
  let ran = [];
  try {
    ran = READ[way](JSON.parse(body)).map(([tool, amount]) => [tool, typeof amount === "number" ? amount : null]);
  } catch {}
  console.log(JSON.stringify(ran));
}
