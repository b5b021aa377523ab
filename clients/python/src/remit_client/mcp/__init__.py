"""`remit-mcp`: stands between an MCP client and an MCP server, and asks Remit before each call of a tool."""
