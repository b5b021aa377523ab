"""The published Claude Code with a scripted model: it runs one command, then repeats what it has read."""

from __future__ import annotations

import json
import subprocess
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import claude_agent_sdk
from claude_agent_sdk._cli_version import __cli_version__

PROGRAM = Path(claude_agent_sdk.__file__).parent / "_bundled/claude"
VERSION = tuple(map(int, __cli_version__.split(".")))


class ScriptedModel:
    """The model's API: the first answer calls `Bash` with `command`, every other one ends the turn.

    has_called: reset it to make the next answer a first one again.
    """

    def __init__(self, command: str) -> None:
        model = self

        class Api(BaseHTTPRequestHandler):
            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                said = b"".join(
                    f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in model.says(asked)
                )
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_): ...

        self.has_called = False
        self._command = command
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def says(self, asked):
        """The events of one answer."""
        if asked.get("tools") and not self.has_called:
            self.has_called = True
            block = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": "Bash", "input": {}}
            given = {"command": self._command, "description": "As the script says"}
            delta, why = {"type": "input_json_delta", "partial_json": json.dumps(given)}, "tool_use"
        else:
            lists = [message["content"] for message in asked["messages"] if isinstance(message["content"], list)]
            read = [one["content"] for parts in lists for one in parts if one["type"] == "tool_result"]
            text = str(read[-1]) if read else "nothing"
            block, delta, why = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}, "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": []}
        yield {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
        yield {"type": "content_block_start", "index": 0, "content_block": block}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        yield {"type": "message_delta", "delta": {"stop_reason": why}, "usage": usage}
        yield {"type": "message_stop"}


def environment(home: Path, model: ScriptedModel, **more: str) -> dict[str, str]:
    """The environment of a machine without any settings, whose only model is the script."""
    return {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        **more,
    }


def run_claude_code(folder: Path, model: ScriptedModel, settings: object, *options: str, **env: str) -> str:
    """The program's last output: what the model has read as the tool's answer."""
    (folder / "home").mkdir(exist_ok=True)
    ran = subprocess.run(
        [PROGRAM, "-p", "go", "--settings", json.dumps(settings), *options],
        cwd=folder,
        env=environment(folder / "home", model, **env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
