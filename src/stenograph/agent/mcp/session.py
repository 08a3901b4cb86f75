"""The MCP servers of one session of the agent: started before its first turn, their tools among its own, ended with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stenograph.agent.engine.asides import Aside, AsideContext
from stenograph.agent.engine.options import AgentOptions
from stenograph.agent.mcp.config import PROJECT_FILE, ServerScope, configured_servers, has_project_servers
from stenograph.agent.mcp.failures import NEEDS_LOGIN
from stenograph.agent.tools.base import Tool
from stenograph.agent.tools.shell import command_environment
from stenograph.errors import LoginError, UsageError
from stenograph.records import Json

if TYPE_CHECKING:
    from stenograph.agent.mcp.hosted import Exchange
    from stenograph.agent.mcp.login import Show
    from stenograph.agent.mcp.tools import McpTool


class SessionServers:
    def __init__(self, options: AgentOptions, is_said: Callable[[str], bool]) -> None:
        """`is_said`: whether a text is in the conversation. Raises UsageError for a configuration that can't be read."""
        environment = command_environment(options.environ, options.environment)
        found = configured_servers(
            options.mcp_config,
            cwd=options.cwd,
            home=options.home,
            environ=environment,
            is_strict=options.strict_mcp_config,
            is_trusted=options.is_trusted,
            sources=options.sources,
            disabled=options.settings.mcp_disabled,
        )
        #: Of the configuration, for the user.
        self._problems = found.problems
        is_asked = not options.strict_mcp_config and ServerScope.PROJECT in options.sources
        if is_asked and not options.is_trusted and has_project_servers(options.cwd):
            self._problems.append(
                f"{PROJECT_FILE} is not used, because this project is not trusted; add --trust-project to use it"
            )
        self._configs = list(found.servers.values())
        self._environment = environment
        self._options = options
        self._servers: Any = None
        self._is_said = is_said
        self._prompt_tool: McpTool | None = None
        #: To servers in the process that started us.
        self.exchange: Exchange | None = None

    async def start(self) -> list[Tool[Any]]:
        """The tools of all servers that answered in time, without the one that answers questions.

        Raises UsageError if that one is missing.
        """
        tools = await self._start()
        if not (asked := self._options.prompt_tool):
            return tools
        from stenograph.agent.mcp.tools import McpTool

        found = [tool for tool in tools if isinstance(tool, McpTool) and tool.name == asked]
        if not found:
            known = ", ".join(tool.name for tool in tools if tool.name.startswith("mcp__")) or "none"
            raise UsageError(f"--permission-prompt-tool: MCP tool {asked} was not found; available: {known}")
        (self._prompt_tool,) = found
        return [tool for tool in tools if tool.name != asked]

    async def ask_prompt_tool(self, arguments: Json, tool_use_id: str) -> Json:
        """Raises ToolFailed."""
        assert self._prompt_tool is not None
        return await self._prompt_tool.ask(arguments, tool_use_id)

    async def _start(self) -> list[Tool[Any]]:
        if not self._configs:
            return []
        try:
            import mcp  # noqa: F401 - a second to import
        except ImportError:
            self._problems.append("MCP servers are not started: pip install 'stenograph[mcp]'")
            return []
        from stenograph.agent.mcp.servers import McpServers
        from stenograph.agent.mcp.tools import server_tools

        options = self._options
        self._servers = McpServers(
            self._configs,
            cwd=options.cwd,
            environment=self._environment,
            environ=options.environ,
            exchange=self.exchange,
        )
        await self._servers.start()
        return server_tools(self._servers)

    @property
    def problems(self) -> list[str]:
        """Of the configuration, and of servers now; for the user."""
        return [*self._problems, *(self._servers.problems if self._servers is not None else ())]

    @property
    def states(self) -> list[Json]:
        """As the client's `init` message has them."""
        servers = self._servers or ()
        return [{"name": one.name, "status": one.status.value, "source": one.config.scope.value} for one in servers]

    @property
    def names_to_log_in(self) -> list[str]:
        """Servers that want a login."""
        return [one.name for one in self._servers or () if one.needs_login]

    @property
    def login_notes(self) -> list[str]:
        """The same in words, for the user."""
        return [f"MCP server {name} {NEEDS_LOGIN}" for name in self.names_to_log_in]

    @property
    def names_logged_in(self) -> list[str]:
        return [one.name for one in self._servers or () if one.is_logged_in]

    @property
    def tools(self) -> list[Tool[Any]]:
        """Of all servers that are connected now, without the one that answers questions. After `start`."""
        from stenograph.agent.mcp.tools import server_tools

        return [tool for tool in server_tools(self._servers) if tool.name != self._options.prompt_tool]

    async def log_in(self, name: str, show: Show) -> None:
        """Until the server is connected. Raises LoginError, DiskError."""
        server = self._servers.find(name)
        await server.log_in(show)
        if server.problem:
            raise LoginError("logged in, but the server is not connected", why=server.problem)

    async def log_out(self, name: str) -> None:
        """Forget the login, and what the server offered. Raises DiskError."""
        await self._servers.find(name).log_out()

    async def instructions(self, context: AsideContext) -> list[Aside]:
        """What servers say about themselves, once, and again after a compaction."""
        if context.agent_id is not None or not context.is_turn_begin:
            return []
        blocks = {one.name: f"## {one.name}\n{one.instructions}" for one in self._servers or () if one.instructions}
        fresh = {name: block for name, block in blocks.items() if not self._is_said(block)}
        if not fresh:
            return []
        attachment = {
            "type": "mcp_instructions_delta",
            "addedNames": list(fresh),
            "addedBlocks": list(fresh.values()),
            "removedNames": [],
        }
        text = _INSTRUCTIONS + "\n\n".join(fresh.values()) + "\n</system-reminder>"
        return [Aside(text=text, attachment=attachment)]

    async def close(self) -> None:
        if self._servers is not None:
            await self._servers.close()


_INSTRUCTIONS = (
    "<system-reminder>\n# MCP Server Instructions\n\n"
    "The following MCP servers have provided instructions for how to use their tools and resources:\n\n"
)
