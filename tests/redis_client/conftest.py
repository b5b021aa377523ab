"""What store tests need besides a store."""

import contextlib
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from scripted_server import ScriptedServer

from app.redis_client.pipelined import PipelinedClient


class Certificate(NamedTuple):
    """A server's certificate for 127.0.0.1, which is its own authority."""

    chain: Path
    key: Path


@pytest.fixture(scope="session")
def certificate(program, tmp_path_factory):
    """Made anew for every run."""
    made = Certificate(*(tmp_path_factory.mktemp("tls") / name for name in ("chain.pem", "key.pem")))
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1"
    named = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", made.key, "-out", made.chain]
    command = [program("openssl", "TLS to the store"), *words.split(), *named]
    subprocess.run(command, check=True, capture_output=True)
    return made


@pytest.fixture
async def stack():
    """Closes what a test opened, the latest first."""
    async with contextlib.AsyncExitStack() as opened:
        yield opened


@pytest.fixture
def serve(stack):
    """Starts a scripted server."""

    async def start(answer, *, handshake=True, **options) -> ScriptedServer:
        server = await ScriptedServer(answer, handshake=handshake).listen(**options)
        stack.push_async_callback(server.close)
        return server

    return start


@pytest.fixture
def connect(stack):
    """Opens a pipelined client."""

    async def start(url, timeout_ms=2_000, **options) -> PipelinedClient:
        link = PipelinedClient(url, timeout_ms, **options)
        await link.open()
        stack.push_async_callback(link.close)
        return link

    return start
