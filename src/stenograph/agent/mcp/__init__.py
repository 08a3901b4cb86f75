"""MCP servers: their configuration, their connections, and their tools as tools of the agent."""
