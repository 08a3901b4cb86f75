"""MCP servers: the same names, schemas, results, lines and denials as in 2.1.325, and no server that can fail a turn.

`answers.json` is what 2.1.325 wrote for the calls in `calls.py`; a test asks the real client again.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lab.clients import run_client
from lab.observatory.scenes import cue, say, text, tool
from tests.agent.mcp.calls import CALLS, answers, configuration, steps
from tests.agent.mcp.serving import serving
from tests.agent.world import Json, World, lines_of, turn_ends, world_at
from tests.cli.running import run as run_steno
from tests.conftest import Client

from stenograph.agent.engine import events
from stenograph.agent.engine.events import Event, Outcome
from stenograph.agent.engine.options import PermissionMode
from stenograph.agent.mcp.config import ServerConfig, ServerScope, Transport, configured_servers
from stenograph.agent.mcp.servers import McpServers, ServerStatus, ServerTool, plain_name
from stenograph.agent.mcp.tools import server_tools
from stenograph.client_settings import ClientSettings, merge_settings, read_settings_files

THEIRS: Json = json.loads(Path(__file__).with_name("answers.json").read_text())
RELEASE = "2.1.325"
FEW: list[tuple[str, Json]] = [("echo", {"words": "1"}), ("change", {}), ("write", {})]
#: Runs of 2.1.325: its arguments, and ours.
RUNS: dict[str, tuple[list[tuple[str, Json]], Json]] = {
    "answers": (CALLS, {}),
    "denials": (FEW, {"permission_mode": PermissionMode.DEFAULT, "allowed": ["mcp__probe__write"]}),
    "by_server": (FEW, {"permission_mode": PermissionMode.DEFAULT, "allowed": ["mcp__probe"]}),
    "denied_by_rule": (
        FEW,
        {"permission_mode": PermissionMode.DEFAULT, "allowed": ["mcp__probe__*"], "disallowed": ["mcp__probe__change"]},
    ),
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path.resolve(), {}) as made:
        yield made


def play(world: World, calls: Sequence[tuple[str, Json]], config: str | None = None, **changes: Any) -> list[Event]:
    world.stage.add("all", steps(calls))
    given = {"mcp_config": [config or configuration()], **changes}
    return world.run(cue("all"), **given)


def notices(seen: list[Event]) -> list[str]:
    return [event.text for event in seen if isinstance(event, events.Notice)]


def results(world: World) -> list[tuple[bool, Any]]:
    return [(bool(one["is_error"]), one["content"]) for one in answers(lines_of(world.session), world.home)]


def offered(world: World) -> list[Json]:
    return [one for one in world.asked()[-1]["tools"] if one["name"].startswith("mcp__")]


@pytest.mark.parametrize("run", RUNS)
def test_results_lines_and_denials_are_those_of_the_client(run: str, world: World) -> None:
    calls, changes = RUNS[run]
    play(world, calls, **changes)
    assert answers(lines_of(world.session), world.home) == THEIRS[run]


def test_names_and_schemas_are_those_of_the_client(world: World) -> None:
    play(world, [])
    ours = [{name: value for name, value in one.items() if name != "cache_control"} for one in offered(world)]
    assert ours == THEIRS["definitions"]


@pytest.mark.clients
@pytest.mark.sample
@pytest.mark.parametrize("release", [RELEASE])
def test_the_client_still_answers_so(release: str, client: Client, world: World) -> None:
    program = client(release)
    world.stage.add("all", steps(CALLS))
    (world.cwd / "mcp.json").write_text(configuration())
    args = ["-p", cue("all"), "--mcp-config", "mcp.json", "--dangerously-skip-permissions"]
    environment = {"ENABLE_TOOL_SEARCH": "false"}
    done = run_client(
        program, home=world.home.parent, cwd=world.cwd, args=args, base_url=world.stage.url, extra_environment=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert answers(lines_of(world.session), world.home) == THEIRS["answers"]


def test_a_server_that_hangs_is_started_anew_and_none_is_left_behind(world: World) -> None:
    log = world.cwd / "log"
    seen = play(
        world,
        [("hangs", {}), ("echo", {"words": "after"})],
        configuration(MCP_LOG=str(log)),
        environ={**os.environ, "MCP_TOOL_TIMEOUT": "300"},
    )
    assert turn_ends(seen)[0].outcome is Outcome.DONE
    assert results(world) == [
        (True, 'MCP server "probe" tool "hangs" timed out after 0.3s'),
        (False, [{"type": "text", "text": 'echo: {"words": "after"}'}]),
    ]
    processes = {int(line.split()[0]) for line in log.read_text().splitlines()}
    assert len(processes) == 2
    assert not any(Path(f"/proc/{process}").exists() for process in processes)


def test_servers_that_fail_are_reported_and_cost_no_turn(world: World) -> None:
    servers = {
        "absent": {"command": "no-such-program"},
        "broken": {"command": sys.executable, "args": ["-c", "raise SystemExit('no database')"]},
        "silent": {"command": "sleep", "args": ["60"]},
        "closed": {"url": "http://127.0.0.1:9/mcp"},
        "odd": {"type": "carrier-pigeon"},
        "empty": {},
    }
    seen = play(world, [], json.dumps({"mcpServers": servers}), environ={**os.environ, "MCP_TIMEOUT": "1500"})
    assert turn_ends(seen)[0].outcome is Outcome.DONE
    told = dict(line.removeprefix("MCP server ").split(": ", 1) for line in notices(seen))
    assert told["absent"] == "its command was not found"
    assert told["broken"].endswith("no database")
    assert told["silent"] == "no answer within 1.5 s"
    assert {"closed", "odd in --mcp-config", "empty in --mcp-config"} <= set(told)
    (begin,) = [event for event in seen if isinstance(event, events.SessionBegin)]
    assert {one["name"]: one["status"] for one in begin.mcp_servers} == dict.fromkeys(
        ("absent", "broken", "silent", "closed"), "failed"
    )


def test_servers_start_side_by_side(world: World) -> None:
    """Each answers only once the other has started."""
    meeting = str(world.cwd / "meeting")
    one = json.loads(configuration(MCP_MEETING=meeting))["mcpServers"]["probe"]
    seen = play(world, [], json.dumps({"mcpServers": {"a": one, "b": one}}))
    (begin,) = [event for event in seen if isinstance(event, events.SessionBegin)]
    assert [one["status"] for one in begin.mcp_servers] == ["connected", "connected"]


def test_an_interrupt_ends_the_call_and_leaves_a_session_that_goes_on(world: World) -> None:
    world.stage.add("more", [say(text("More."))])
    world.stage.add("hang", steps([("hangs", {})]))

    def during(agent: Any, event: Event) -> None:
        if isinstance(event, events.ToolBegin):
            agent.interrupt()

    seen = world.run(cue("hang"), cue("more"), during=during, mcp_config=[configuration()])
    assert [end.outcome for end in turn_ends(seen)] == [Outcome.INTERRUPTED, Outcome.DONE]


def test_the_endpoints_keys_reach_no_server_and_variables_are_expanded(world: World) -> None:
    config = configuration(GIVEN="${WHERE}/${NOT_SET:-default}/${ANTHROPIC_API_KEY:-none}")
    seen = play(world, [("environment", {})], config, environ={**os.environ, "WHERE": "here", "ANTHROPIC_API_KEY": "sk-secret"})
    ((_, content),) = results(world)
    assert json.loads(content[0]["text"]) == {
        "GIVEN": "here/default/none",
        "ANTHROPIC_API_KEY": None,
        "CLAUDE_PROJECT_DIR": str(world.cwd),
    }
    assert notices(seen) == []


def test_a_variable_that_is_not_set_is_reported(world: World) -> None:
    seen = play(world, [], configuration(GIVEN="${NOT_SET_ANYWHERE}"))
    assert notices(seen) == ["MCP server probe in --mcp-config: not set: NOT_SET_ANYWHERE"]


def test_a_hint_never_allows(world: World) -> None:
    """`echo` says that it only reads."""
    play(world, [("echo", {"words": "1"})], permission_mode=PermissionMode.DEFAULT)
    play(world, [("echo", {"words": "1"})], permission_mode=PermissionMode.PLAN)
    assert all(is_error for path in world.sessions for is_error in [results_of(path, world)[0][0]])


def results_of(path: Path, world: World) -> list[tuple[bool, Any]]:
    return [(bool(one["is_error"]), one["content"]) for one in answers(lines_of(path), world.home)]


def test_instructions_are_said_once_also_after_a_resume(world: World) -> None:
    world.stage.add("more", [say(text("More."))])
    play(world, [])
    world.run(cue("more"), cue("more"), resume=world.session.stem, mcp_config=[configuration()])
    assert json.dumps(world.asked()[-1]["messages"]).count("Use the probe with care.") == 1


def test_a_projects_own_servers_need_trust(world: World) -> None:
    (world.cwd / ".mcp.json").write_text(configuration())
    seen = play(world, [], json.dumps({"mcpServers": {}}))
    assert (offered(world), notices(seen)) == (
        [],
        [".mcp.json is not used, because this project is not trusted; add --trust-project to use it"],
    )
    play(world, [], json.dumps({"mcpServers": {}}), is_trusted=True)
    assert offered(world) != []
    seen = play(world, [], json.dumps({"mcpServers": {}}), is_trusted=True, strict_mcp_config=True)
    assert (offered(world), notices(seen)) == ([], [])
    disabled = ClientSettings(mcp_disabled=frozenset({"probe"}))
    play(world, [], json.dumps({"mcpServers": {}}), is_trusted=True, settings=disabled)
    assert offered(world) == []


@pytest.mark.parametrize(
    ("sources", "used"),
    [
        ("user,project,local", {"of-user", "of-project", "of-local"}),
        ("user", {"of-user"}),
        ("project", {"of-project"}),
        ("local", {"of-local"}),
        ("user,project", {"of-user", "of-project"}),
        ("project,local", {"of-project", "of-local"}),
        ("", set()),
    ],
)
def test_setting_sources_say_whose_servers_are_used(tmp_path: Path, sources: str, used: set[str]) -> None:
    """The servers that 2.1.325 names in its first message, with the same files and the same option."""
    home, cwd = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    cwd.mkdir()

    def servers(name: str) -> Json:
        return {"mcpServers": {name: {"command": "true"}}}

    own = {**servers("of-user"), "projects": {str(cwd): servers("of-local")}}
    (home / ".claude.json").write_text(json.dumps(own))
    (cwd / ".mcp.json").write_text(json.dumps(servers("of-project")))
    names = frozenset(filter(None, sources.split(",")))
    found = configured_servers([], cwd=cwd, home=home, environ={}, is_trusted=True, sources=names)
    assert set(found.servers) == used
    given = [json.dumps(servers("given"))]
    found = configured_servers(given, cwd=cwd, home=home, environ={}, is_trusted=True, sources=names)
    assert set(found.servers) == {*used, "given"}


@pytest.mark.parametrize(
    ("files", "used"),
    [
        ({}, {"a", "b", "c", "d"}),
        ({"user": {"disabledMcpjsonServers": ["a"]}}, {"b", "c", "d"}),
        ({"project": {"disabledMcpjsonServers": ["a"]}}, {"b", "c", "d"}),
        ({"local": {"disabledMcpjsonServers": ["a"]}}, {"b", "c", "d"}),
        ({"user": {"disabledMcpjsonServers": ["a"]}, "project": {"enabledMcpjsonServers": ["a"]}}, {"b", "c", "d"}),
        ({"user": {"enableAllProjectMcpServers": True}, "project": {"disabledMcpjsonServers": ["a"]}}, {"b", "c", "d"}),
        ({"user": {"enabledMcpjsonServers": ["a"]}}, {"a", "b", "c", "d"}),
        # Those of the user's own file stay.
        ({"user": {"disabledMcpjsonServers": ["b", "d"]}}, {"a", "b", "c", "d"}),
    ],
)
def test_servers_of_the_project_can_be_disabled(tmp_path: Path, files: dict[str, Json], used: set[str]) -> None:
    """The servers that 2.1.325 names in its first message of print mode, with the same files."""
    home, cwd = tmp_path / ".claude", tmp_path / "work"
    home.mkdir()
    (cwd / ".claude").mkdir(parents=True)

    def servers(names: str) -> str:
        return json.dumps({"mcpServers": {name: {"command": "true"} for name in names}})

    (tmp_path / ".claude.json").write_text(servers("bd"))
    (cwd / ".mcp.json").write_text(servers("abc"))
    places = {
        "user": home / "settings.json",
        "project": cwd / ".claude/settings.json",
        "local": cwd / ".claude/settings.local.json",
    }
    for name, values in files.items():
        places[name].write_text(json.dumps(values))
    settings = merge_settings(*read_settings_files(home, cwd), is_trusted=True)
    found = configured_servers([], cwd=cwd, home=home, environ={}, is_trusted=True, disabled=settings.mcp_disabled)
    assert set(found.servers) == used


def test_a_server_that_is_disabled_is_not_complained_about(tmp_path: Path) -> None:
    servers = {"a": {"command": "true", "env": {"KEY": "${API_KEY}"}}, "b": {"type": "pigeon"}, "c": {"command": "true"}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    found = configured_servers(
        [], cwd=tmp_path, home=tmp_path / "home", environ={}, is_trusted=True, disabled=frozenset({"a", "b"})
    )
    assert (set(found.servers), found.problems) == ({"c"}, [])


def test_servers_of_the_clients_own_file_are_used(world: World) -> None:
    servers = json.loads(configuration())["mcpServers"]
    local = {"mcpServers": {"mine": servers["probe"]}}
    (world.home.parent / ".claude.json").write_text(
        json.dumps({"mcpServers": servers, "projects": {str(world.cwd): local, "/elsewhere": {"mcpServers": {"other": {}}}}})
    )
    seen = play(world, [], json.dumps({"mcpServers": {}}))
    (begin,) = [event for event in seen if isinstance(event, events.SessionBegin)]
    assert {one["name"]: (one["status"], one["source"]) for one in begin.mcp_servers} == {
        "mine": ("connected", "local"),
        "probe": ("connected", "user"),
    }


@pytest.mark.parametrize("config", ["{", '{"servers": {}}', "no-such-file.json", "[]"])
def test_a_configuration_that_is_none_is_an_error(config: str, world: World) -> None:
    done = run_steno(
        "agent", "-p", "Hello", "--mcp-config", config, "--home", world.home, environment={"ANTHROPIC_API_KEY": "sk-x"}
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "MCP configuration" in done.stderr


def test_what_is_written_passes_a_strict_check(world: World) -> None:
    play(world, [*CALLS, ("hangs", {})], environ={**os.environ, "MCP_TOOL_TIMEOUT": "1000"})
    done = run_steno("check", "--strict", world.home / "projects")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@contextmanager
def http_server(kind: str) -> Iterator[str]:
    """A real one, of the official SDK."""
    program = (
        "import sys\n"
        "from mcp.server.mcpserver import MCPServer\n"
        "server = MCPServer('far', instructions='From afar.')\n"
        "@server.tool()\n"
        "def shout(words: str) -> str:\n"
        "    return words.upper()\n"
        f"server.run(transport='{kind}', port=int(sys.argv[1]))\n"
    )
    with serving(lambda port: [sys.executable, "-c", program, str(port)]) as port:
        yield f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"


@pytest.mark.parametrize(("kind", "type_"), [("streamable-http", "http"), ("sse", "sse")])
def test_servers_are_reached_over_http(kind: str, type_: str, world: World) -> None:
    with http_server(kind) as url:
        config = json.dumps({"mcpServers": {"far": {"type": type_, "url": url}}})
        world.stage.add("far", [say(tool("mcp__far__shout", words="hey")), say(text("Done."))])
        seen = world.run(cue("far"), mcp_config=[config])
    assert notices(seen) == []
    ((is_error, content),) = results(world)
    assert (is_error, "HEY" in json.dumps(content)) == (False, True)


def test_the_sdk_is_not_loaded_without_servers() -> None:
    import subprocess

    program = (
        "import sys, asyncio\n"
        "from stenograph.agent.mcp import session\n"
        "assert not [name for name in sys.modules if name.split('.')[0] in ('mcp', 'pydantic', 'anyio')]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_server_is_found_by_its_own_name_first(tmp_path: Path) -> None:
    configs = [
        ServerConfig(name=name, scope=ServerScope.DYNAMIC, transport=Transport.STDIO, command="x")
        for name in ("my.srv", "my_srv", "your.srv")
    ]
    servers = McpServers(configs, cwd=tmp_path, environment={}, environ={})
    asked = ("my.srv", "my_srv", "your_srv", "nobody")
    found = [servers.find(name) for name in asked]
    assert [one and one.name for one in found] == ["my.srv", "my_srv", "your.srv", None]


def test_a_program_that_never_listens_is_no_server() -> None:
    with (
        pytest.raises(AssertionError, match="no database"),
        serving(lambda _: [sys.executable, "-c", "raise SystemExit('no database')"]),
    ):
        raise RuntimeError("it is one")


def test_tools_know_nothing_of_the_servers_that_some_come_from() -> None:
    """Imports inside functions too, which hide a cycle."""
    import stenograph.agent.tools

    (folder,) = stenograph.agent.tools.__path__
    importing = [path.name for path in Path(folder).glob("*.py") if "stenograph.agent.mcp" in path.read_text(encoding="utf-8")]
    assert importing == []


def test_a_server_with_odd_names_and_schemas_can_not_make_an_endpoint_refuse_everything(tmp_path: Path) -> None:
    """The API refuses requests with two tools of one name, a name of over 128 characters, or input that is not an object."""
    config = ServerConfig(name="p q", scope=ServerScope.DYNAMIC, transport=Transport.STDIO, command="x")
    servers = McpServers([config], cwd=tmp_path, environment={}, environ={})
    (server,) = servers
    server.status = ServerStatus.CONNECTED
    names = ["a b", "a_b", "a\x1b[31mb", "x" * 200, ""]
    server.tools = [
        ServerTool(name="mcp__p_q__" + plain_name(name), own_name=name, description="", schema={"type": "array"})
        for name in names
    ]
    made = [tool.definition() for tool in server_tools(servers)]
    assert [one["name"] for one in made] == ["mcp__p_q__", "mcp__p_q__a__31mb", "mcp__p_q__a_b"]
    assert {one["input_schema"]["type"] for one in made} == {"object"}


def test_inputs_of_servers_may_have_schemas_that_name_several_types_or_none(tmp_path: Path) -> None:
    config = ServerConfig(name="s", scope=ServerScope.DYNAMIC, transport=Transport.STDIO, command="x")
    servers = McpServers([config], cwd=tmp_path, environment={}, environ={})
    (server,) = servers
    server.status = ServerStatus.CONNECTED
    members = {"a": {"type": ["string", "null"]}, "b": True, "c": {"type": "array", "items": True}, "d": {"type": "integer"}}
    schema = {"type": "object", "properties": members, "required": ["c"]}
    server.tools = [ServerTool(name="mcp__s__t", own_name="t", description="", schema=schema)]
    (made,) = server_tools(servers)
    given = {"a": None, "b": None, "c": [None, {"y": None}], "d": "4"}
    assert made.check(given).arguments == {**given, "d": 4}


@pytest.mark.parametrize("kind", ["json", "event", "packed"])
def test_an_answer_without_an_end_is_given_up(kind: str, world: World) -> None:
    """Of a server that sends a thousand megabytes if it is let, or says that they are compressed."""
    heads = {"json": "application/json", "event": "text/event-stream", "packed": "application/json\r\nContent-Encoding: gzip"}
    head = heads[kind]
    sent: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            block = b"data: " + b" " * 1_000_000
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection, contextlib.suppress(OSError):
                        connection.recv(65536)
                        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: {head}\r\nConnection: close\r\n\r\n".encode())
                        for _ in range(1000):
                            connection.sendall(block)
                            sent.append(len(block))

        threading.Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        world.stage.add("far", [say(text("Done."))])
        seen = world.run(cue("far"), mcp_config=[json.dumps({"mcpServers": {"far": {"type": "http", "url": url}}})])
    assert notices(seen) != []
    assert sum(sent) < 200_000_000
