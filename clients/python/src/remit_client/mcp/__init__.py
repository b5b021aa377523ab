"""`remit-client mcp`: a proxy between an MCP client and an MCP server that asks Remit before each tool call."""
