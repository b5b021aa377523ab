"""A process that is killed while its tool waits for the user: another one goes on with the same call."""

import functools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from drivers import NAME

from remit_client import calls

HERE = Path(__file__).parent
LEG = """
import asyncio, json, os, sqlite3, sys
import drivers

kind, url, key, agent, folder = sys.argv[1:]
desk = getattr(drivers, kind)((url, key), agent, [[["c1", 40]]], 1)
if kind == "LangGraphSync":
    from langgraph.checkpoint.sqlite import SqliteSaver
    desk._saved = SqliteSaver(sqlite3.connect(folder + "/store", check_same_thread=False))
if kind == "Adk":
    from google.adk.sessions.sqlite_session_service import SqliteSessionService
    desk._sessions = SqliteSessionService(folder + "/store")
desk.restart()
path = folder + "/saved"

async def first():
    await desk.start()
    text = desk._saved if hasattr(desk, "_saved") else None
    text = text.decode() if isinstance(text, bytes) else text
    with open(path, "w") as saved:
        json.dump([text if isinstance(text, str) else None, vars(desk).get("_waiting")], saved, default=str)
    os.kill(os.getpid(), 9)

async def second():
    text, desk._waiting = json.load(open(path))
    if text is not None:
        desk._saved = text
    desk._turn = 1
    await desk.resume()
    print(desk.ran, desk.said)

asyncio.run(second() if os.path.exists(path) else first())
"""


@pytest.mark.parametrize("kind", ["Adk", "LangGraphSync", "OpenAI", "Pydantic"])
def test_another_process_goes_on_with_the_call(kind, service, admin, asking_key, tmp_path):
    """With a limit of one, which the first leg has taken. What was saved is JSON, or the framework's file of SQLite."""
    agent = admin.send(calls.create_agent("desk")).id
    limit = {"type": "rate_limit", "tools": [NAME], "rateLimit": {"maxCalls": 1, "windowSeconds": 3600}}
    admin.send(calls.create_policy(agent, "desk", [{"type": "tool_allowlist", "tools": [NAME]}, limit]))
    command = [sys.executable, "-c", LEG, kind, service.url, asking_key, agent, tmp_path]
    env = os.environ | {"PYTHONPATH": str(HERE.parent)}
    run = functools.partial(subprocess.run, cwd=HERE, env=env, capture_output=True, text=True, timeout=300)
    legs = [run(command) for _ in range(2)]
    assert [leg.returncode for leg in legs] == [-signal.SIGKILL, 0], legs[1].stderr
    assert "[40]" in legs[1].stdout
    assert "paid" in legs[1].stdout
    assert len(admin.send(calls.list_audit_logs(agent_id=agent, result="allowed"))) == 1
