"""The program `remit-client`, whose command `mcp` is the proxy."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import json
import logging
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial

from remit_client import AsyncRemit
from remit_client.enforcement import AsyncEnforcer
from remit_client.listing import statuses
from remit_client.mcp.channels import Child, Server
from remit_client.mcp.own_stdio import open_own_stdio
from remit_client.mcp.proxy import Proxy
from remit_client.mcp.starter import starter_session
from remit_client.mcp.tool_list import tools_of
from remit_client.models import Json
from remit_client.verdicts import Place

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
    if not (options.agent or options.print_tools):
        of_mcp.error("--agent ID is needed: the agent that makes the calls")
    _keep_memory_private()
    logging.basicConfig(stream=sys.stderr, format="remit-client mcp: %(message)s", level=logging.WARNING)
    try:
        code = asyncio.run(_print_tools(options) if options.print_tools else _run(options))
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
    session = options.session or starter_session()
    context = ({"session": session} if session else {}) | _pairs(options.context, "=", "--context")
    enforcer = AsyncEnforcer(remit, options.agent, context=context, wait=options.wait)

    async def check(tool: str, arguments: Json, place: Place) -> None:
        await enforcer.check(tool, arguments, place=place)

    async with contextlib.AsyncExitStack() as stack:
        server = await _server(options, stack)
        client = await open_own_stdio()
        proxy = Proxy(
            client, server, check, partial(statuses, remit, options.agent),
            prefix=options.tool_prefix, exact_integers=options.exact_integers,
        )  # fmt: skip
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


async def _print_tools(options: argparse.Namespace) -> int:
    """Print the server's tools as `remit catalog import` takes them, under the names that policies have."""
    async with contextlib.AsyncExitStack() as stack:
        tools = await tools_of(await _server(options, stack))
    named = [{**tool, "name": options.tool_prefix + tool["name"]} for tool in tools]
    print(json.dumps({"tools": named}), flush=True)  # noqa: T201 - it is what was asked for
    return 0


async def _server(options: argparse.Namespace, stack: contextlib.AsyncExitStack) -> Server:
    """The server, until the stack is closed."""
    if options.url:
        from remit_client.mcp.over_http import connect  # noqa: PLC0415 - the SDK takes a second to load

        return await stack.enter_async_context(connect(options.url, _pairs(options.header, ":", "--header")))
    child = await Child.start(options.command)
    stack.push_async_callback(child.stop)
    return child


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
    parser.add_argument("--agent", metavar="ID", help="the agent that makes the calls")
    parser.add_argument("--url", help="the MCP server's address, if it speaks streamable HTTP")
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME:VALUE", help="a header for --url; may be repeated"
    )
    parser.add_argument("--wait", type=float, default=0.0, metavar="S", help="seconds to wait for a person's approval")
    parser.add_argument("--timeout", type=float, default=2.0, metavar="S", help="seconds to wait for a decision")
    parser.add_argument(
        "--context", action="append", default=[], metavar="NAME=VALUE", help="a field of the context; may be repeated"
    )
    parser.add_argument("--session", help="context.session (default: the program that started this one, while it runs)")
    parser.add_argument(
        "--tool-prefix", default="", metavar="PREFIX", help="what policies have before the names of the server's tools"
    )
    parser.add_argument(
        "--exact-integers", action="store_true", help="the server reads every whole number exactly: pass them all on"
    )
    parser.add_argument(
        "--print-tools", action="store_true", help="print the server's tools for `remit catalog import -`, and end"
    )
    parser.add_argument("--remit-url", help="Remit's address (default: REMIT_URL); the key is always REMIT_API_KEY")
    parser.add_argument("command", nargs="*", help=argparse.SUPPRESS)
    return program, parser
