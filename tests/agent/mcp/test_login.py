"""Logins to MCP servers, against a real authorization server and a real MCP server on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import socket
import stat
import sys
import time
import urllib.error
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from lab.observatory.scenes import cue, say, text, tool
from tests.agent.mcp.protected import BROWSER, Protected, last_page, protected_server, visit
from tests.agent.process import started, steno
from tests.agent.world import Json, World, lines_of, of, turn_ends, world_at

from stenograph.agent.engine import events
from stenograph.agent.engine.events import Event, Outcome
from stenograph.agent.engine.session import Agent
from stenograph.agent.mcp import login
from stenograph.agent.mcp.config import ServerConfig, ServerScope, Transport
from stenograph.agent.mcp.failures import LoginNeeded
from stenograph.agent.mcp.logins import Logins
from stenograph.agent.mcp.remote import authorization
from stenograph.agent.mcp.servers import McpServers, ServerConnection, ServerStatus
from stenograph.agent.tools.base import ToolFailed
from stenograph.errors import LoginError, StenographError

NOTE = "MCP server safe needs authentication: use /mcp in the console (steno agent)"
SHOUT = "mcp__safe__shout"
#: What the authorization server does for a login.
LOGIN = ["register Stenograph", "authorize", "exchange"]
Act = Callable[[Agent], Awaitable[None]]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path.resolve(), {}) as made:
        made.stage.add("shout", [say(tool(SHOUT, words="hey")), say(text("Done."))])
        yield made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Protected]:
    with protected_server(tmp_path) as started:
        yield started


def configuration(server: Protected, **members: Any) -> str:
    kind = "sse" if server.url.endswith("/sse") else "http"
    return json.dumps({"mcpServers": {"safe": {"type": kind, "url": server.url, **members}}})


async def allow(address: str, _: Callable[[str], bool]) -> None:
    """A person who allows everything, without delay."""
    asyncio.get_running_loop().run_in_executor(None, visit, address)


async def sign_in(agent: Agent) -> None:
    await agent.log_in_to_server("safe", allow)


def run_after(world: World, server: Protected, act: Act, *prompts: str, **changes: Any) -> list[Event]:
    """The events of a session in which something is done before the first prompt."""

    async def run() -> list[Event]:
        opened: asyncio.Future[Agent] = asyncio.get_running_loop().create_future()

        def see(agent: Agent, event: Event) -> None:
            if isinstance(event, events.SessionBegin):
                opened.set_result(agent)

        async def each() -> AsyncIterator[str]:
            await act(await opened)
            for prompt in prompts:
                yield prompt

        return await world.hear(each(), see, **{"mcp_config": [configuration(server)], **changes})

    return asyncio.run(run())


def notices(seen: list[Event]) -> list[str]:
    return [event.text for event in seen if isinstance(event, events.Notice)]


def statuses(seen: list[Event]) -> dict[str, str]:
    (begin,) = [event for event in seen if isinstance(event, events.SessionBegin)]
    return {one["name"]: one["status"] for one in begin.mcp_servers}


def results(world: World) -> list[Json]:
    lines = [line for path in world.sessions for line in of("user", lines_of(path))]
    blocks = [line["message"]["content"] for line in lines if isinstance(line["message"]["content"], list)]
    return [block[0] for block in blocks if block[0]["type"] == "tool_result"]


def stored() -> list[Path]:
    return sorted((Path(os.environ["XDG_DATA_HOME"]) / "stenograph" / "mcp-logins").glob("*"))


def tokens() -> Json:
    (path,) = stored()
    found: Json = json.loads(path.read_bytes())["tokens"]
    return found


@contextlib.asynccontextmanager
async def connection(server: Protected, tmp_path: Path, **members: Any) -> AsyncIterator[ServerConnection]:
    """Not started."""
    kind = Transport.SSE if server.url.endswith("/sse") else Transport.HTTP
    config = ServerConfig(name="safe", scope=ServerScope.DYNAMIC, transport=kind, url=server.url, **members)
    servers = McpServers([config], cwd=tmp_path, environment={}, environ=os.environ)
    try:
        (only,) = servers
        yield only
    finally:
        await servers.close()


def browser(folder: Path) -> tuple[dict[str, str], Path]:
    """An environment with a browser that notes that it was opened, and where it does."""
    program, log = folder / "browser.py", folder / "browser.log"
    program.write_text(BROWSER, encoding="utf-8")
    return {"BROWSER": f"{sys.executable} {program} {log} %s", "XDG_DATA_HOME": os.environ["XDG_DATA_HOME"]}, log


@pytest.mark.parametrize("options", [(), ("--sse",)], ids=["http", "sse"])
def test_a_server_that_wants_a_login_is_reported_and_costs_no_turn(
    options: tuple[str, ...], tmp_path: Path, world: World
) -> None:
    world.stage.add("one", [say(text("Hello."))])
    with protected_server(tmp_path, *options) as server:
        seen = world.run(cue("one"), mcp_config=[configuration(server)])
        assert server.steps == ["GET /sse" if "--sse" in options else "POST /mcp"]
    assert turn_ends(seen)[0].outcome is Outcome.DONE
    assert statuses(seen) == {"safe": "needs-auth"}
    assert notices(seen) == [NOTE]
    assert stored() == []


@pytest.mark.parametrize("options", [(), ("--sse",)], ids=["http", "sse"])
def test_after_a_login_the_tools_are_there_at_once(options: tuple[str, ...], tmp_path: Path, world: World) -> None:
    with protected_server(tmp_path, *options) as server:
        run_after(world, server, sign_in, cue("shout"))
        assert server.grants == LOGIN
    assert "HEY" in json.dumps(results(world))
    request = world.asked()[0]
    assert SHOUT in [one["name"] for one in request["tools"]]
    assert "Handle with care." in json.dumps(request["messages"])


def test_tokens_are_for_this_user_only_and_nowhere_else(server: Protected, world: World) -> None:
    world.stage.add("look", [say(tool("Bash", command="env; cat /proc/$PPID/environ", description="Look")), say(text("Done."))])
    seen = run_after(world, server, sign_in, cue("look"))
    (path,) = stored()
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    values = [value.encode() for value in (tokens()["access_token"], tokens()["refresh_token"])]
    files = [
        one for one in (*world.home.rglob("*"), *world.cwd.rglob("*"), *Path(os.environ["HOME"]).rglob("*")) if one.is_file()
    ]
    holding = {one for one in files if any(value in one.read_bytes() for value in values)}
    assert holding == {path}
    assert not any(value.decode() in repr(seen) for value in values)
    assert not any(value.decode() in json.dumps(world.asked()) for value in values)
    login = Logins(os.environ).read(
        ServerConfig(name="safe", scope=ServerScope.USER, transport=Transport.HTTP, url=server.url),
    )
    assert repr(login) == "<Login safe>"


def test_another_address_or_name_has_no_tokens_of_this_server(server: Protected, world: World) -> None:
    run_after(world, server, sign_in)
    logins = Logins(os.environ)
    for name, url, is_ours in (
        ("safe", server.url, True),
        ("other", server.url, False),
        ("safe", "http://127.0.0.1:9/mcp", False),
    ):
        config = ServerConfig(name=name, scope=ServerScope.PROJECT, transport=Transport.HTTP, url=url)
        assert (logins.read(config) is not None) is is_ours


def test_a_later_run_uses_the_stored_tokens_without_a_browser(tmp_path: Path, server: Protected, world: World) -> None:
    run_after(world, server, sign_in)
    environment, opened = browser(tmp_path)
    done = steno(world, cue("shout"), "--mcp-config", configuration(server), environment=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Done.\n", "")
    assert "HEY" in json.dumps(results(world))
    assert (server.grants, opened.exists()) == (LOGIN, False)


@pytest.mark.parametrize("options", [("--lifetime", "1"), ("--silent",)], ids=["expired", "refused"])
def test_old_tokens_are_refreshed_and_stored(options: tuple[str, ...], tmp_path: Path, world: World) -> None:
    """Also those that a server forgets before their time, or of which it did not say how long they are valid."""
    environment, opened = browser(tmp_path)
    with protected_server(tmp_path, *options) as server:
        run_after(world, server, sign_in)
        before, seen = tokens(), len(server.steps)
        if "--silent" in options:
            server.forget()
        else:
            time.sleep(2.1)
        done = steno(world, cue("shout"), "--mcp-config", configuration(server), environment=environment)
        assert (done.returncode, done.stdout, done.stderr) == (0, "Done.\n", "")
        assert [step for step in server.grants if step != "refresh"] == LOGIN
        assert "refresh" in server.grants
        # What is known to be expired is not even sent, and what was asked for once is asked for again.
        assert (server.steps[seen] == "POST /auth/token") is ("--silent" not in options)
        wanted = {step for step in server.steps if step.startswith("tokens for")}
        assert wanted == {f"tokens for {server.url.removesuffix('mcp')}"}
    assert "HEY" in json.dumps(results(world))
    assert tokens()["refresh_token"] != before["refresh_token"]
    assert stat.S_IMODE(stored()[0].stat().st_mode) == 0o600
    assert not opened.exists()


def test_without_a_way_to_refresh_a_script_is_told_what_to_do_and_no_browser_opens(
    tmp_path: Path, server: Protected, world: World
) -> None:
    world.stage.add("one", [say(text("Hello."))])
    run_after(world, server, sign_in)
    server.forget(refresh_tokens=True)
    environment, opened = browser(tmp_path)
    done = steno(world, cue("one"), "--mcp-config", configuration(server), environment=environment)
    assert (done.returncode, done.stdout) == (0, "Hello.\n")
    assert NOTE in done.stderr
    assert [step for step in server.grants if step != "refresh refused"] == LOGIN
    assert not opened.exists()


def test_requests_side_by_side_do_not_spend_a_refresh_token_twice(tmp_path: Path, server: Protected) -> None:
    """By hand: the SDK's client asks for tools before it calls several of them."""

    async def run() -> list[int]:
        async with connection(server, tmp_path) as one:
            await one.log_in(allow)
        server.forget()
        auth = authorization(one.config, Logins(os.environ), lambda _: None)
        async with httpx2.AsyncClient(auth=auth) as client:
            asked = [client.post(server.url, json={"jsonrpc": "2.0"}, timeout=20) for _ in range(5)]
            return [response.status_code for response in await asyncio.gather(*asked)]

    assert 401 not in asyncio.run(run())
    assert "refresh" in server.grants
    assert "refresh refused" not in server.grants


@pytest.mark.parametrize("options", [("--lifetime", "1"), ()], ids=["expired", "refused"])
def test_a_refresh_token_that_is_refused_is_sent_once(options: tuple[str, ...], tmp_path: Path) -> None:
    """Who sees it again may take it for stolen, and end every login of the user."""

    async def run(server: Protected) -> list[str]:
        async with connection(server, tmp_path) as one:
            await one.log_in(allow)
            server.forget(refresh_tokens=True)
            await asyncio.sleep(2.1 if options else 0)
            for _ in range(2):
                with pytest.raises(ToolFailed, match="needs authentication"):
                    await one.request(lambda client: client.list_tools(), timeout=20, timed_out="")
            refused = [step for step in server.grants if step == "refresh refused"]
            await one.log_in(allow)
            assert one.status is ServerStatus.CONNECTED
            return refused

    with protected_server(tmp_path, *options) as server:
        assert asyncio.run(run(server)) == ["refresh refused"]


def test_requests_side_by_side_do_not_send_a_refused_refresh_token_twice(tmp_path: Path, server: Protected) -> None:
    async def run() -> list[BaseException | httpx2.Response]:
        async with connection(server, tmp_path) as one:
            await one.log_in(allow)
        server.forget(refresh_tokens=True)
        auth = authorization(one.config, Logins(os.environ), lambda _: None)
        async with httpx2.AsyncClient(auth=auth) as client:
            asked = [client.post(server.url, json={"jsonrpc": "2.0"}, timeout=20) for _ in range(5)]
            return await asyncio.gather(*asked, return_exceptions=True)

    assert {type(each) for each in asyncio.run(run())} == {LoginNeeded}
    assert [step for step in server.grants if step.startswith("refresh")] == ["refresh refused"]


def test_two_connections_do_not_spend_a_refresh_token_twice(tmp_path: Path, server: Protected) -> None:
    """Each has its own `Logins`, as in two processes."""

    async def ask(one: ServerConnection) -> int:
        auth = authorization(one.config, Logins(os.environ), lambda _: None)
        async with httpx2.AsyncClient(auth=auth) as client:
            return (await client.post(server.url, json={"jsonrpc": "2.0"}, timeout=20)).status_code

    async def run() -> list[int]:
        async with connection(server, tmp_path) as one:
            await one.log_in(allow)
            server.forget()
            return await asyncio.gather(*(ask(one) for _ in range(4)))

    assert 401 not in asyncio.run(run())
    assert [step for step in server.grants if step.startswith("refresh")] == ["refresh"]


@pytest.mark.proof
def test_two_processes_do_not_spend_a_refresh_token_twice(tmp_path: Path, world: World) -> None:
    """The server takes longer to refresh than one of them is ahead of the other."""
    world.stage.add("one", [say(text("Hello."))])
    environment, _ = browser(tmp_path)
    with protected_server(tmp_path, "--delay", "3") as server:
        run_after(world, server, sign_in)
        server.forget()
        given = (cue("one"), "--mcp-config", configuration(server))
        runs = [started(world, *given, environment=environment) for _ in range(2)]
        assert [run.communicate(timeout=60) for run in runs] == [("Hello.\n", "")] * 2
        assert [step for step in server.grants if step.startswith("refresh")] == ["refresh"]


def test_a_refresh_under_way_does_not_bring_back_a_login_that_is_deleted(tmp_path: Path) -> None:
    async def run(server: Protected) -> None:
        async with connection(server, tmp_path) as one:
            await one.log_in(allow)
            server.forget()
            before = len(server.steps)
            auth = authorization(one.config, Logins(os.environ), lambda _: None)
            async with httpx2.AsyncClient(auth=auth) as client:
                asking = asyncio.create_task(client.post(server.url, json={"jsonrpc": "2.0"}, timeout=20))
                while "POST /auth/token" not in server.steps[before:]:
                    await asyncio.sleep(0.02)
                await Logins(os.environ).delete(one.config)
                await asking

    with protected_server(tmp_path, "--delay", "1") as server:
        asyncio.run(run(server))
    assert stored() == []


UNREFRESHED = "cannot refresh the login (HTTP 503)"


@pytest.mark.parametrize("options", [(), ("--sse",)], ids=["http", "sse"])
def test_an_authorization_server_that_fails_is_not_a_login_that_is_over(
    options: tuple[str, ...], tmp_path: Path, world: World
) -> None:
    environment, _ = browser(tmp_path)
    with protected_server(tmp_path, *options) as server:
        run_after(world, server, sign_in)
        given = (cue("shout"), "--mcp-config", configuration(server))
        before = tokens()
        server.forget()
        server.control("break")
        done = steno(world, *given, environment=environment)
        assert (done.returncode, done.stdout) == (0, "Done.\n")
        assert f"MCP server safe: {UNREFRESHED}" in done.stderr
        assert "authentication" not in done.stderr
        assert tokens() == before
        server.control("repair")
        done = steno(world, *given, environment=environment)
        assert (done.returncode, done.stderr) == (0, "")
    assert "HEY" in json.dumps(results(world))


@pytest.mark.parametrize("options", [(), ("--sse",)], ids=["http", "sse"])
def test_an_authorization_server_that_fails_during_a_session_costs_the_calls_until_it_works(
    options: tuple[str, ...], tmp_path: Path, world: World
) -> None:
    with protected_server(tmp_path, *options) as server:
        failures: list[str] = []

        async def act(agent: Agent) -> None:
            await sign_in(agent)
            server.forget()
            server.control("break")
            found = agent.shared.toolbox.find(SHOUT)
            for _ in range(2):
                with pytest.raises(ToolFailed) as failed:
                    await found.ask({"words": "hey"}, "toolu_1")  # type: ignore[attr-defined]
                failures.append(failed.value.words)
            assert (agent.servers_to_log_in, agent.servers_logged_in) == ([], ["safe"])
            server.control("repair")

        run_after(world, server, act, cue("shout"))
    assert failures == [f'MCP server "safe" is not connected: {UNREFRESHED}'] * 2
    assert "HEY" in json.dumps(results(world))


@pytest.mark.parametrize("options", [(), ("--sse",)], ids=["http", "sse"])
def test_a_login_that_ends_during_a_session_fails_calls_until_the_next_login(
    options: tuple[str, ...], tmp_path: Path, world: World
) -> None:
    with protected_server(tmp_path, *options) as server:
        seen: list[Any] = []

        async def act(agent: Agent) -> None:
            await sign_in(agent)
            server.forget(refresh_tokens=True)
            found = agent.shared.toolbox.find(SHOUT)
            with pytest.raises(Exception, match="needs authentication") as failed:
                await found.ask({"words": "hey"}, "toolu_1")  # type: ignore[attr-defined]
            seen.append((str(failed.value), agent.servers_to_log_in))
            await sign_in(agent)

        run_after(world, server, act, cue("shout"))
    needs = 'MCP server "safe" is not connected: it needs authentication: use /mcp in the console (steno agent)'
    assert seen == [(needs, ["safe"])]
    assert "HEY" in json.dumps(results(world))


def test_only_the_answer_with_the_state_of_this_login_is_taken(server: Protected, world: World) -> None:
    refused: list[int] = []

    async def person(address: str, take: Callable[[str], bool]) -> None:
        asyncio.get_running_loop().run_in_executor(None, browse, address, take)

    def browse(address: str, take: Callable[[str], bool]) -> None:
        back = redirect_uri(address)
        base = back.removesuffix("/callback")
        stolen = back + "?code=stolen&state=" + "x" * 43
        (ours,) = parse_qs(urlsplit(address).query)["state"]
        for wrong in (
            stolen,
            back + "?code=stolen",
            back,
            back + "?state=",
            f"{back}?state={ours}",
            base + "/",
            base + "/favicon.ico",
        ):
            with pytest.raises(urllib.error.HTTPError) as failed:
                visit(wrong)
            refused.append(failed.value.code)
            failed.value.close()
        with contextlib.closing(http.client.HTTPConnection(urlsplit(back).netloc, timeout=20)) as raw:
            raw.request("GET", "//[?code=x")
            refused.append(raw.getresponse().status)
        assert not take(stolen)
        assert not take(f"{back}?code=x&state=\ud800")
        assert not take("http://[")
        assert stored() == []
        assert "exchange" not in server.grants
        assert "close this page" in visit(address)

    async def act(agent: Agent) -> None:
        await agent.log_in_to_server("safe", person)

    run_after(world, server, act, cue("shout"))
    assert refused == [400, 400, 400, 400, 400, 404, 404, 404]
    assert "HEY" in json.dumps(results(world))


def redirect_uri(address: str) -> str:
    (found,) = parse_qs(urlsplit(address).query)["redirect_uri"]
    assert urlsplit(found).hostname == "127.0.0.1"
    return found


def test_the_address_of_the_last_page_can_be_pasted_where_the_browser_is_elsewhere(server: Protected, world: World) -> None:
    async def person(address: str, take: Callable[[str], bool]) -> None:
        assert take(f"  {last_page(address)}\n")

    async def act(agent: Agent) -> None:
        await agent.log_in_to_server("safe", person)

    run_after(world, server, act, cue("shout"))
    assert server.grants == LOGIN
    assert "HEY" in json.dumps(results(world))


def failed_login(server: Protected, tmp_path: Path, show: login.Show = allow) -> LoginError:
    async def run() -> LoginError:
        async with connection(server, tmp_path) as one:
            with pytest.raises(LoginError) as failed:
                await one.log_in(show)
            return failed.value

    return asyncio.run(run())


def test_a_refusal_in_the_browser_is_said_and_nothing_is_stored(tmp_path: Path) -> None:
    with protected_server(tmp_path, "--denies") as server:
        assert failed_login(server, tmp_path).what == 'the login was refused ("access_denied")'
    assert stored() == []


def test_a_server_that_does_not_accept_its_own_tokens_opens_one_browser(tmp_path: Path) -> None:
    with protected_server(tmp_path, "--rejects") as server:
        assert failed_login(server, tmp_path).what == "the server does not accept its own tokens"
        assert server.grants == LOGIN
    assert stored() == []


@pytest.mark.parametrize("options", [(), ("--sse",)], ids=["http", "sse"])
def test_a_login_that_was_accepted_stays_when_the_server_refuses_its_token_later(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    async def run(server: Protected) -> tuple[ServerStatus, bool]:
        async with connection(server, tmp_path) as one:
            async with asyncio.timeout(20):
                await one.log_in(allow)
            return one.status, one.is_logged_in

    with protected_server(tmp_path, "--accepts-once", *options) as server:
        assert asyncio.run(run(server)) == (ServerStatus.CONNECTED, True)
        assert [step for step in server.grants if step != "refresh"] == LOGIN


CONTROLS = {"--breaks": "break", "--drops": "drop"}


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--denies", 'the login was refused ("access_denied")'),
        ("--rejects", "the server does not accept its own tokens"),
        ("--breaks", "the server issued no tokens"),
        ("--drops", "cannot log in"),
    ],
)
def test_a_login_that_fails_after_a_stream_was_opened_says_so_at_once(option: str, said: str, tmp_path: Path) -> None:
    """The SDK passes nothing on that goes wrong when it sends; it notices after ten seconds that no answer came."""

    async def break_then_allow(address: str, _: Callable[[str], bool]) -> None:
        if option in CONTROLS:
            own.control(CONTROLS[option])
        await allow(address, _)

    began = time.monotonic()
    options = () if option in CONTROLS else (option,)
    with protected_server(tmp_path, "--sse", "--open-stream", *options) as own:
        assert failed_login(own, tmp_path, break_then_allow).what == said
    assert time.monotonic() - began < 8
    assert stored() == []


@pytest.mark.parametrize("options", [(), ("--sse",)], ids=["http", "sse"])
def test_a_server_that_wants_more_than_it_asked_for_opens_one_browser_and_costs_no_login(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    async def run(server: Protected) -> tuple[ServerStatus, bool]:
        async with connection(server, tmp_path) as one:
            await one.log_in(allow)
            return one.status, one.is_logged_in

    with protected_server(tmp_path, "--wants-more", *options) as server:
        assert asyncio.run(run(server)) == (ServerStatus.FAILED, True)
        assert server.grants == LOGIN
    assert len(stored()) == 1


def test_a_server_without_an_authorization_server_says_so(tmp_path: Path, world: World) -> None:
    """The scripted API answers everything that it does not know with 404."""
    error = failed_login(Protected(f"{world.stage.url}/mcp", tmp_path / "none"), tmp_path)
    assert (error.what, stored()) == ("cannot log in", [])


def test_a_person_who_does_nothing_is_not_awaited_forever(
    tmp_path: Path, server: Protected, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nobody(*_: object) -> None:
        pass

    monkeypatch.setattr(login, "PATIENCE", 1.5)
    assert failed_login(server, tmp_path, nobody).what == "no answer from the browser within 0.025 minutes"
    assert stored() == []


def test_a_server_that_never_answers_is_not_taken_for_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_TIMEOUT", "500")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent_server = Protected(f"http://127.0.0.1:{silent.getsockname()[1]}/mcp", tmp_path / "none")
        assert failed_login(silent_server, tmp_path).what == "the server did not ask for a login within 0.5 s"


def test_a_person_may_take_longer_than_a_server(tmp_path: Path, server: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    async def slowly(address: str, _: Callable[[str], bool]) -> None:
        await asyncio.sleep(1.5)
        await asyncio.get_running_loop().run_in_executor(None, visit, address)

    async def run() -> ServerStatus:
        async with connection(server, tmp_path) as one:
            await one.log_in(slowly)
            return one.status

    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", 0.5)
    assert asyncio.run(run()) is ServerStatus.CONNECTED
    assert server.grants == LOGIN


def test_a_login_that_was_given_up_leaves_nothing_behind(tmp_path: Path, server: Protected) -> None:
    async def run() -> str:
        shown: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def show(address: str, _: Callable[[str], bool]) -> None:
            shown.set_result(address)

        async with connection(server, tmp_path) as one:
            trying = asyncio.create_task(one.log_in(show))
            address = await shown
            trying.cancel()
            with pytest.raises(asyncio.CancelledError):
                await trying
        return address

    address = asyncio.run(run())
    with pytest.raises(urllib.error.URLError):
        visit(redirect_uri(address))
    assert stored() == []


def test_signing_out_deletes_the_tokens_and_takes_the_tools_away(server: Protected, world: World) -> None:
    async def act(agent: Agent) -> None:
        await sign_in(agent)
        assert agent.servers_logged_in == ["safe"]
        await agent.log_out_of_server("safe")
        assert (agent.servers_logged_in, agent.servers_to_log_in) == ([], ["safe"])

    run_after(world, server, act, cue("shout"))
    assert stored() == []
    assert SHOUT not in [one["name"] for one in world.asked()[0]["tools"]]
    assert "No such tool available" in json.dumps(results(world))


def test_after_another_login_a_server_has_the_tools_that_it_has_then(server: Protected, world: World) -> None:
    world.stage.add("one", [say(text("Hello."))])

    async def act(agent: Agent) -> None:
        await sign_in(agent)
        server.control("change")
        await sign_in(agent)

    run_after(world, server, act, cue("one"))
    names = [one["name"] for one in world.asked()[0]["tools"]]
    assert [name for name in names if name.startswith("mcp__")] == ["mcp__safe__whisper"]
    assert len(names) == len(set(names))


RESOURCES = {"ListMcpResourcesTool", "ReadMcpResourceTool"}


def test_tools_for_resources_are_there_while_a_server_has_some(server: Protected, world: World) -> None:
    seen: list[set[str]] = []

    async def act(agent: Agent) -> None:
        def look() -> None:
            seen.append(RESOURCES & set(agent.shared.toolbox.names))

        look()
        await sign_in(agent)
        look()
        await agent.log_out_of_server("safe")
        look()
        await sign_in(agent)
        look()

    run_after(world, server, act)
    assert seen == [set(), RESOURCES, set(), RESOURCES]


def test_servers_whose_tools_have_the_same_names_are_told_apart(server: Protected, world: World) -> None:
    """The names of their tools have `_` for the dot."""
    owners: list[tuple[list[str], list[str | None]]] = []
    (one,) = json.loads(configuration(server))["mcpServers"].values()

    async def act(agent: Agent) -> None:
        for name in ("my_srv", "my.srv"):
            await agent.log_in_to_server(name, allow)
            owners.append((agent.servers_logged_in, servers_of(agent)))
        for name in ("my_srv", "my.srv"):
            await agent.log_out_of_server(name)
            owners.append((agent.servers_logged_in, servers_of(agent)))

    def servers_of(agent: Agent) -> list[str | None]:
        return [tool.server for tool in agent.shared.toolbox.tools if tool.name == "mcp__my_srv__shout"]

    run_after(world, server, act, mcp_config=[json.dumps({"mcpServers": {"my.srv": one, "my_srv": one}})])
    assert owners == [
        (["my_srv"], ["my_srv"]),
        (["my.srv", "my_srv"], ["my_srv"]),
        (["my.srv"], ["my.srv"]),
        ([], []),
    ]


@pytest.mark.parametrize("name", ["Authorization", "authorization"])
def test_a_configured_header_wins(name: str, server: Protected, world: World) -> None:
    run_after(world, server, sign_in)
    before = len(server.steps)
    world.stage.add("one", [say(text("Hello."))])
    config = configuration(server, headers={name: "Bearer mine"})
    seen = world.run(cue("one"), mcp_config=[config])
    assert statuses(seen) == {"safe": "failed"}
    assert notices(seen) == ["MCP server safe: it does not accept the Authorization header in `headers`"]
    assert set(server.steps[before:]) == {"POST /mcp Bearer"}


def test_a_header_that_is_refused_is_an_error_of_ours(server: Protected) -> None:
    async def run() -> None:
        config = ServerConfig(
            name="safe",
            scope=ServerScope.DYNAMIC,
            transport=Transport.HTTP,
            url=server.url,
            headers={"Authorization": "Bearer mine"},
        )
        auth = authorization(config, Logins(os.environ), lambda _: None)
        async with httpx2.AsyncClient(auth=auth) as client:
            await client.post(server.url, json={"jsonrpc": "2.0"})

    with pytest.raises(StenographError, match="does not accept the Authorization header"):
        asyncio.run(run())


def test_other_configured_headers_are_sent_with_the_tokens(server: Protected, tmp_path: Path) -> None:
    async def run() -> ServerStatus:
        async with connection(server, tmp_path, headers={"X-Team": "blue"}) as one:
            await one.log_in(allow)
            return one.status

    assert asyncio.run(run()) is ServerStatus.CONNECTED


def test_a_server_of_an_untrusted_project_is_not_even_asked(server: Protected, world: World) -> None:
    (world.cwd / ".mcp.json").write_text(configuration(server))
    world.stage.add("one", [say(text("Hello."))])
    world.run(cue("one"))
    assert server.steps == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", None], ids=["empty", "torn", "another", "not the SDK's"])
def test_a_login_that_can_not_be_read_counts_as_none(content: bytes | None, server: Protected, world: World) -> None:
    run_after(world, server, sign_in)
    (path,) = stored()
    if content is None:
        content = json.dumps({**json.loads(path.read_bytes()), "tokens": {}}).encode()
    path.write_bytes(content)
    world.stage.add("one", [say(text("Hello."))])
    seen = world.run(cue("one"), mcp_config=[configuration(server)])
    assert notices(seen) == [NOTE]


def test_without_a_place_for_tokens_a_login_fails(tmp_path: Path, server: Protected) -> None:
    async def run() -> str:
        config = ServerConfig(name="safe", scope=ServerScope.DYNAMIC, transport=Transport.HTTP, url=server.url)
        servers = McpServers([config], cwd=tmp_path, environment={}, environ={"HOME": "nowhere"})
        (one,) = servers
        with pytest.raises(LoginError) as failed:
            await one.log_in(allow)
        await one.log_out()
        return str(failed.value)

    assert asyncio.run(run()) == "no directory to store tokens in; try: set HOME"
