/** Stands in for Claude Code: speaks its protocol on stdin and stdout, and asks the SDK's hook about one call. */

import { createInterface } from "node:readline";

const say = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`);
const PARAMETERS = { amount: 120, lines: [1] };
let hook = "";

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.type === "control_request") {
    if (message.request.subtype === "initialize") hook = message.request.hooks.PreToolUse[0].hookCallbackIds[0];
    const honours = { hook_on_failure_supported: true, hooks_applied: true };
    const response = {
      commands: [],
      models: [],
      agents: [],
      output_style: "",
      available_output_styles: [],
      account: {},
      ...honours,
    };
    say({ type: "control_response", response: { subtype: "success", request_id: message.request_id, response } });
  } else if (message.type === "user") {
    const about = { session_id: "s1", transcript_path: "", cwd: "/" };
    const input = {
      ...about,
      hook_event_name: "PreToolUse",
      tool_name: "refund_create",
      tool_input: PARAMETERS,
      tool_use_id: "t1",
    };
    const request = { subtype: "hook_callback", callback_id: hook, input, tool_use_id: "t1" };
    say({ type: "control_request", request_id: "r1", request });
  } else if (message.type === "control_response") {
    const result = JSON.stringify(message.response.response.hookSpecificOutput);
    say({
      type: "result",
      subtype: "success",
      is_error: false,
      result,
      session_id: "s1",
      num_turns: 1,
      usage: {},
      uuid: "u1",
    });
    break;
  }
}
