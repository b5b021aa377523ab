"""The program `remit-client`, whose command `mcp` is the proxy."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import sys
import uuid
from collections.abc import Mapping, Sequence

from remit_client import AsyncRemit, RemitError, calls
from remit_client.enforcement import AsyncEnforcer
from remit_client.mcp.channels import Child, Server
from remit_client.mcp.own_stdio import open_own_stdio
from remit_client.mcp.proxy import Proxy

logger = logging.getLogger("remit_client")
PR_SET_DUMPABLE = 4
CANNOT_BEGIN, SERVER_ENDED = 2, 1
EXAMPLE = """\
In an MCP configuration, put it in front of the server's own command:
  {"command": "remit-client", "args": ["mcp", "--agent", "laptop", "--", "python", "server.py"],
   "env": {"REMIT_URL": "https://remit.example.com", "REMIT_API_KEY": "svc_…"}}
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Exit with 0 when the client disconnects, 1 when the server ends first, 2 when the proxy cannot start."""
    parser, of_mcp = _parsers()
    options = parser.parse_args(arguments)
    if bool(options.url) == bool(options.command):
        of_mcp.error("name exactly one server: --url URL, or -- COMMAND …")
    _keep_memory_private()
    logging.basicConfig(stream=sys.stderr, format="remit-client mcp: %(message)s", level=logging.WARNING)
    try:
        code = asyncio.run(_run(options))
    except (OSError, ValueError) as error:
        logger.error("%s", error)  # noqa: TRY400 - a sentence is enough
        code = CANNOT_BEGIN
    # A thread may be blocked reading from the client, and a normal exit would wait for it.
    sys.stderr.flush()
    os._exit(code)


def _keep_memory_private() -> None:
    """On Linux, no other program of this user can read our environment or memory: the server must not get our key."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


async def _run(options: argparse.Namespace) -> int:
    remit = AsyncRemit(options.remit_url, timeout=options.timeout)
    context = {"session": options.session, **_pairs(options.context, "=", "--context")}
    enforcer = AsyncEnforcer(remit, options.agent, context=context, wait=options.wait)

    async def statuses() -> Mapping[str, str]:
        try:
            return await remit.send(calls.list_agent_tools(options.agent))
        except RemitError as error:
            logger.info("The listing hides no tools: %s", error)
            return {}

    async with contextlib.AsyncExitStack() as stack:
        server: Server
        if options.url:
            from remit_client.mcp.over_http import connect  # noqa: PLC0415 - the SDK takes a second to load

            server = await stack.enter_async_context(connect(options.url, _pairs(options.header, ":", "--header")))
        else:
            server = child = await Child.start(options.command)
            stack.push_async_callback(child.stop)
        client = await open_own_stdio()
        proxy = Proxy(client, server, enforcer.check, statuses)
        running = asyncio.ensure_future(proxy.run())
        with contextlib.suppress(NotImplementedError):  # Windows
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
        try:
            client_left = await running
        except asyncio.CancelledError:
            client_left = True
        if not client_left:
            why = f"The MCP server {server.ended} before it answered"
            logger.error("%s", why)
            proxy.fail_unanswered(why)
        await client.flush()
    return 0 if client_left else SERVER_ENDED


def _pairs(given: Sequence[str], separator: str, option: str) -> dict[str, str]:
    found = {}
    for one in given:
        name, found_separator, value = one.partition(separator)
        if not (name.strip() and found_separator):
            raise ValueError(f"{option} {one}: must be name{separator}value")
        found[name.strip()] = value.strip()
    return found


def _parsers() -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """The program's, and that of its command `mcp`."""
    program = argparse.ArgumentParser(prog="remit-client", description="What needs Remit's client and no code.")
    parser = program.add_subparsers(metavar="COMMAND", required=True).add_parser(
        "mcp",
        help="ask Remit before each tool call of an MCP client",
        usage="remit-client mcp --agent ID [options] (--url URL | -- COMMAND …)",
        description="A proxy between an MCP client and an MCP server that asks Remit before each tool call.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--agent", required=True, metavar="ID", help="the agent that makes the calls")
    parser.add_argument("--url", help="the MCP server's address, if it speaks streamable HTTP")
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME:VALUE", help="a header for --url; may be repeated"
    )
    parser.add_argument("--wait", type=float, default=0.0, metavar="S", help="seconds to wait for a person's approval")
    parser.add_argument("--timeout", type=float, default=2.0, metavar="S", help="seconds to wait for a decision")
    parser.add_argument(
        "--context", action="append", default=[], metavar="NAME=VALUE", help="a field of the context; may be repeated"
    )
    parser.add_argument("--session", default=uuid.uuid4().hex, help="context.session (default: a new one each start)")
    parser.add_argument("--remit-url", help="Remit's address (default: REMIT_URL); the key is always REMIT_API_KEY")
    parser.add_argument("command", nargs="*", help=argparse.SUPPRESS)
    return program, parser
