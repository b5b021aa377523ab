"""A replica's time by stage of a decision, from py-spy's stacks."""

import linecache
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.harness.machine import ROOT
from bench.harness.peer_programs import py_spy

PARSE, AUTHENTICATE, DECODE, DECIDE = "parse HTTP, start the task", "authenticate", "decode, check, redact", "decide"
COMMIT, PACK, SEND, REPLY = "commit arguments", "pack", "write to the store", "read its reply"
ENCODE, ANSWER, WRITE = "encode the answer", "make the HTTP answer", "write to the caller"
READ, POLL, LOOP, OTHER = "read from sockets (kernel)", "ask for events (kernel)", "event loop", "other"
STAGES = (READ, PARSE, AUTHENTICATE, DECODE, DECIDE, COMMIT, PACK, SEND, REPLY, ENCODE, ANSWER, WRITE, POLL, LOOP)

# The first rule that fits the innermost frame decides, then those of the frame around it, and so on.
# Each is a pattern for the file, one for the function and one for the text of the line, and the stage.
_RULES = [
    (re.compile(path), re.compile(function), re.compile(line), stage)
    for path, function, line, stage in (
        (r"app/redis_client/connection\.py", r"_flush", "", SEND),
        (r"app/redis_client/connection\.py", r"data_received|_refuse", "", REPLY),
        (r"app/redis_client/(pipelined|connection|packed_call)\.py", r"", "", PACK),
        (r"app/(authorize/commit/\w+|store/keyspace|redis_client/scripts|model/ids)\.py", r"", "", COMMIT),
        (r"app/(redaction/redactor|http/api/|http/tool_calls|http/bodies|model/text)\.py", r"", "", DECODE),
        (r"app/(pdp/|authorize/agent_cache|authorize/authorizer)", r"", "", DECIDE),
        (r"app/(http/authentication|authorize/authenticator|model/api_keys)\.py", r"", "", AUTHENTICATE),
        (r"app/http/views/decisions\.py", r"", "", ENCODE),
        (r"app/model/times\.py", r"", "", ENCODE),
        (r"app/http/protocol/outgoing\.py", r"", "", WRITE),
        (r"app/http/protocol/(incoming|head|target|body)\.py", r"", "", PARSE),
        (r"app/http/protocol/(http_protocol|connection)\.py", r"buffer|received|_read|_wait", "", PARSE),
        (r"app/http/|app/runtime/metrics\.py", r"", "", ANSWER),
        (r"uvicorn/", r"\bsend\b|response_complete|transport", "", ANSWER),
        (r"uvicorn/", r"\breceive\b", "", DECODE),
        (r"uvicorn/|app/http/protocol/|app/serve/worker\.py|asyncio/(locks|tasks)", r"", "", PARSE),
    )
]
_FRAME = re.compile(r"^(?P<function>.*) \((?P<file>[^()]*?)(?::(?P<line>\d+))?\)$")


def stage_of(frames: Sequence[str]) -> str:
    """The stage of a sampled stack (outermost frame first)."""
    kernel = LOOP
    for frame in reversed(frames):
        match = _FRAME.match(frame)
        if match is None or match["file"] is None:
            continue
        if not match["file"].endswith(".py"):
            kernel = _kernel_call(frame) or kernel
            continue
        if "asyncio/runners.py" in match["file"]:
            return kernel
        text = linecache.getline(str(ROOT / match["file"]), int(match["line"] or 0))
        for path, function, line, stage in _RULES:
            if path.search(match["file"]) and function.search(match["function"]) and line.search(text):
                return stage
    return OTHER


def sampled(pid: int, seconds: float, folder: Path) -> Counter[str]:
    """How often each stage was sampled in `seconds` of work. Raises PeerMissing if there is no py-spy.

    Python's frames say which stage; what they leave to the event loop is split by a second run that sees C frames,
    which is slower and so not used for the rest.
    """
    counts = _counted(_record(pid, seconds, folder / "stacks.txt"))
    native = _counted(_record(pid, seconds, folder / "native.txt", "--native"))
    inside = {stage: native[stage] for stage in (READ, POLL, LOOP)}
    whole, seen = counts.pop(LOOP, 0), sum(inside.values())
    for stage, count in inside.items():
        counts[stage] += round(whole * count / seen) if seen else 0
    return counts


def _record(pid: int, seconds: float, path: Path, *options: str) -> Path:
    command = [str(py_spy()), "record", "--pid", str(pid), "--duration", str(max(1, round(seconds)))]
    command += ["--rate", "200", "--format", "raw", "--output", str(path), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def _counted(path: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        if "asyncio/runners.py" in stack:  # other threads make no decisions
            counts[stage_of(stack.split(";"))] += int(count)
    return counts


def _kernel_call(frame: str) -> str | None:
    name = frame.partition(" ")[0].strip("_")
    if name in {"read", "recv", "recvmsg", "readv"}:
        return READ
    return POLL if name.startswith("epoll") else None
