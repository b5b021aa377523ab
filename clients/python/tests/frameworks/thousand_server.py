"""An MCP server of the SDK with 1,000 tools, a hundred to a page, some of which ask the client for something."""

import os

import anyio
from mcp import types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server

PAGE, TOOLS = 100, 1000
ASKING = ["changed", "sample", "roots", "elicit", "crash"]
SCHEMA = {"type": "object", "properties": {"text": {"type": "string", "x-ours": [1, None, 1.5]}}}


def tool(name):
    said = {
        "title": f"Does {name}",
        "annotations": types.ToolAnnotations(readOnlyHint=True),
        "_meta": {"ours": {"a": 1}},
    }
    return types.Tool(name=name, description=f"The tool {name}", inputSchema=SCHEMA, **said)


NAMES = [*ASKING, *(f"tool_{number}" for number in range(TOOLS - len(ASKING)))]


async def list_tools(context, params):
    at = int(params.cursor) if params and params.cursor else 0
    more = str(at + PAGE) if at + PAGE < TOOLS else None
    return types.ListToolsResult(tools=[tool(name) for name in NAMES[at : at + PAGE]], nextCursor=more)


async def call_tool(context, params):
    session, said = context.session, "done"
    if params.name == "crash":
        os._exit(7)
    if params.name == "changed":
        await session.send_tool_list_changed()
    if params.name == "sample":
        text = types.TextContent(type="text", text="What now?")
        message = types.SamplingMessage(role="user", content=text)
        said = (await session.create_message([message], max_tokens=5, related_request_id=context.request_id)).model
    if params.name == "roots":
        said = ",".join(str(root.uri) for root in (await session.list_roots()).roots)
    if params.name == "elicit":
        schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
        said = (await session.elicit_form("Sure?", schema, related_request_id=context.request_id)).action
    if params.name.startswith("tool_"):
        said = f"{params.name}: {len((params.arguments or {}).get('text', ''))}"
    structured = {"said": said, "deep": [{"a": [None, 1.5, "é"]}]}
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)], structuredContent=structured)


async def main():
    server = Server("thousand", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        options = server.create_initialization_options(NotificationOptions(tools_changed=True))
        await server.run(reading, writing, options)


anyio.run(main)
