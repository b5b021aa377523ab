"""An MCP server in plain lines: tells the client every line it reads, and answers as asked.

A request `x/answer` is answered with its params; `tools/list` with as many tools as argv says; `tools/call` with its
arguments; `x/crash` ends the process.
"""

import json
import os
import sys

TOOLS = int(sys.argv[1]) if len(sys.argv) > 1 else 2


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


say({"jsonrpc": "2.0", "method": "notifications/started", "params": {"key": os.environ.get("REMIT_API_KEY")}})
for line in sys.stdin:
    message = json.loads(line)
    say({"jsonrpc": "2.0", "method": "notifications/read", "params": {"line": line}})
    if message.get("method") == "x/crash":
        os._exit(7)
    if message.get("method") == "x/answer":
        sys.stdout.write(message["params"]["raw"] + "\n")
        sys.stdout.flush()
    elif message.get("method") == "tools/list":
        tools = [{"name": f"tool_{number}", "description": "d", "x-new": [1]} for number in range(TOOLS)]
        say({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": tools, "nextCursor": "n", "x": {"y": 1}}})
    elif message.get("method") == "tools/call":
        content = [{"type": "text", "text": json.dumps(message["params"].get("arguments"))}]
        say({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}})
