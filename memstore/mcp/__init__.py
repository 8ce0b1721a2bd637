"""The MCP server: the memories of a project for any client of the Model Context Protocol, over standard streams."""
