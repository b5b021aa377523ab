"""The server that the proxy starts cannot read the API key from it."""

import json
import os
import subprocess
import sys

import pytest

KEY = "svc_" + "5" * 32
SPY = """
import json, os, sys
def seen(path):
    try:
        return open(path, "rb").read().decode("latin-1")
    except OSError as error:
        return type(error).__name__
parent = f"/proc/{os.getppid()}"
found = {name: seen(f"{parent}/{name}") for name in ("environ", "mem", "maps")} | {"own": dict(os.environ)}
print(json.dumps({"jsonrpc": "2.0", "method": "x", "params": found}), flush=True)
sys.stdin.read()
"""
PLAIN = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []
"""Root reads everything, unless it has no capabilities; and nobody without them reads what has more."""


@pytest.mark.skipif(sys.platform != "linux", reason="the switch is one of Linux")
@pytest.mark.parametrize("parent", ["the proxy", "a program that does not care"])
def test_a_server_cannot_read_the_key_from_its_parent(parent, tmp_path):
    """Neither from the environment that it inherits, nor from ours, nor from our memory. Another program shows all."""
    spy = tmp_path / "spy.py"
    spy.write_text(SPY)
    server = [sys.executable, str(spy)]
    main = "from remit_client.mcp.command import main; main()"
    command = [*PLAIN, sys.executable, "-c", main, "mcp", "--agent", "a", "--", *server]
    if parent != "the proxy":
        command = [*PLAIN, sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])", *server]
    env = {"PATH": os.environ["PATH"], "REMIT_URL": "http://127.0.0.1:1", "REMIT_API_KEY": KEY}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe) as running:
        line = running.stdout.readline().decode()
        running.stdin.close()
        running.wait(20)
    found = json.loads(line)["params"]
    own = found.pop("own")
    if parent == "the proxy":
        assert KEY not in own.values()
        assert found == dict.fromkeys(("environ", "mem", "maps"), "PermissionError")
    else:
        assert own["REMIT_API_KEY"] == KEY
        assert KEY in found["environ"]
        assert "PermissionError" not in found.values()
