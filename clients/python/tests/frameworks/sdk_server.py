"""An MCP server of the SDK with tools that report progress, ask the user, ask the model, and take their time.

With a port as its argument it speaks streamable HTTP, else stdio.
"""

import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from pydantic import BaseModel

server = MCPServer("desk")


class Answer(BaseModel):
    sure: bool


@server.tool()
async def refund_create(amount: float) -> str:
    """Pay back."""
    return f"paid {amount}"


@server.tool()
async def count(ctx: Context) -> str:
    """Reports its progress."""
    for number in range(3):
        await ctx.report_progress(number, 3, f"step {number}")
    return "counted"


@server.tool()
async def ask(ctx: Context) -> str:
    """Asks the user."""
    said = await ctx.elicit("Sure?", Answer)
    return f"{said.action} {getattr(said, 'data', None)}"


@server.tool()
async def sure(ctx: Context) -> str | InputRequiredResult:
    """Asks the user as the protocol of 2026-07-28 does: its answer is the question, and it is called anew."""
    if ctx.input_responses:
        return "done"
    form = ElicitRequestFormParams(message="Sure?", requested_schema={"type": "object", "properties": {}})
    return InputRequiredResult(input_requests={"sure": ElicitRequest(params=form)})


@server.tool()
async def sleep() -> str:
    """Never ends by itself."""
    await anyio.sleep(600)
    return "slept"


@server.tool()
async def length(text: str) -> int:
    """How long a text is."""
    return len(text)


@server.resource("desk://note")
def note() -> str:
    """A note."""
    return "remember"


@server.prompt()
def greeting(name: str) -> str:
    """A greeting."""
    return f"Hello {name}"


if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run("stdio")
