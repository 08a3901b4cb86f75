# ruff: noqa: ARG002 - the methods of a provider are the SDK's
"""An MCP server that wants OAuth, and its authorization server: both real, of the official SDK, in one process on loopback.

In: a port, a log, and how it behaves. The authorization server is below `/auth`, so that its addresses can't be guessed from the
MCP server's. It asks nobody: who comes with a valid request is sent back with a code. Each request and each step goes to the log,
a line each. `/control/forget` makes it forget access tokens, `/control/forget-all` refresh tokens too. After `/control/break` it
issues no tokens (HTTP 503), after `/control/drop` it does not even answer, after `/control/repair` it issues them again.
`/control/change` gives the MCP server another tool. With `--open-stream`, only what is sent needs a login, not the stream.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    ProviderTokenVerifier,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SCOPE = "read"
ANYONE = "anyone"


class Log:
    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, words: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{words}\n")


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Refresh tokens are used once, as the specification wants of public clients."""

    def __init__(
        self, log: Log, *, lifetime: int, says_lifetime: bool, denies: bool, rejects: bool, accepts_once: bool, wants_more: bool
    ) -> None:
        self._log = log
        self._lifetime = lifetime
        self._says_lifetime = says_lifetime
        self._denies = denies
        self._rejects = rejects
        self._accepts_once = accepts_once
        self._wants_more = wants_more
        self._clients: dict[str, OAuthClientInformationFull] = {}
        self._codes: dict[str, AuthorizationCode] = {}
        self.refresh_tokens: dict[str, RefreshToken] = {}
        self.access_tokens: dict[str, AccessToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self._clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id is not None
        self._log.add(f"register {client_info.client_name}")
        self._clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self._log.add("authorize")
        if self._denies:
            return construct_redirect_uri(str(params.redirect_uri), error="access_denied", state=params.state)
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            client_id=str(client.client_id),
            scopes=params.scopes or [SCOPE],
            expires_at=time.time() + 60,
            **params.model_dump(include={"code_challenge", "redirect_uri", "redirect_uri_provided_explicitly", "resource"}),
        )
        self._codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self._codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        self._log.add("exchange")
        del self._codes[authorization_code.code]
        return self._issued(authorization_code)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        found = self.refresh_tokens.get(refresh_token)
        self._log.add("refresh" if found else "refresh refused")
        return found

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refresh_tokens[refresh_token.token]
        return self._issued(refresh_token)

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self.access_tokens.get(token)
        if found is None or (found.expires_at or 0) <= time.time():
            return None
        if found.client_id == ANYONE:
            return found
        if self._rejects:
            return None
        if self._accepts_once:
            del self.access_tokens[token]
        return found.model_copy(update={"scopes": []}) if self._wants_more else found

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        raise NotImplementedError

    def anyone(self, resource: str) -> str:
        """A token that nobody has to log in for."""
        return self._issued(RefreshToken(token="", client_id=ANYONE, scopes=[SCOPE], resource=resource)).access_token

    def _issued(self, grant: AuthorizationCode | RefreshToken) -> OAuthToken:
        about: dict[str, Any] = grant.model_dump(include={"client_id", "scopes", "resource"})
        access, refresh = f"access-{secrets.token_hex(16)}", f"refresh-{secrets.token_hex(16)}"
        self.access_tokens[access] = AccessToken(token=access, expires_at=int(time.time()) + self._lifetime, **about)
        self.refresh_tokens[refresh] = RefreshToken(token=refresh, **about)
        return OAuthToken(
            access_token=access,
            refresh_token=refresh,
            expires_in=self._lifetime if self._says_lifetime else None,
            scope=" ".join(grant.scopes),
        )


def application(base: str, provider: Provider, log: Log, *, is_sse: bool, is_stream_open: bool, delay: float) -> ASGIApp:
    issuer = AnyHttpUrl(f"{base}/auth")
    server = MCPServer(
        "safe",
        token_verifier=ProviderTokenVerifier(provider),
        auth=AuthSettings(
            issuer_url=issuer,
            resource_server_url=AnyHttpUrl(f"{base}/"),  # more than the MCP server, as many say
            required_scopes=[SCOPE],
            validate_token_resource=True,
        ),
        instructions="Handle with care.",
    )

    @server.tool()
    def shout(words: str) -> str:
        return words.upper()

    def whisper(words: str) -> str:
        return words.lower()

    app = server.sse_app() if is_sse else server.streamable_http_app()
    registration = ClientRegistrationOptions(enabled=True, valid_scopes=[SCOPE], default_scopes=[SCOPE])
    metadata, *others = create_auth_routes(provider, issuer, client_registration_options=registration)

    is_broken = drops = False

    async def control(request: Request) -> Response:
        nonlocal is_broken, drops
        match request.path_params["what"]:
            case "forget":
                provider.access_tokens.clear()
            case "forget-all":
                provider.access_tokens.clear()
                provider.refresh_tokens.clear()
            case "break":
                is_broken = True
            case "drop":
                drops = True
            case "repair":
                is_broken = drops = False
            case "change":
                server.remove_tool("shout")
                server.add_tool(whisper)
        return Response()

    async def issue(scope: Scope, receive: Receive, send: Send) -> None:
        async def heard() -> Message:
            message = await receive()
            for resource in parse_qs(message.get("body", b"").decode()).get("resource", ["nothing"]):
                log.add(f"tokens for {resource}")
            return message

        await asyncio.sleep(delay)
        if drops:
            receive.__self__.transport.abort()  # type: ignore[attr-defined] # uvicorn's
        if is_broken:
            await Response(status_code=503)(scope, receive, send)
        else:
            await outer(scope, heard, send)

    outer = Starlette(
        routes=[
            Route("/control/{what}", control),
            Route(f"{metadata.path}/auth", metadata.endpoint),
            Mount("/auth", routes=others),
            Mount("/", app=app),
        ],
        lifespan=app.router.lifespan_context,
    )

    async def logged(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            kind = headers.get(b"authorization", b"").decode().partition(" ")[0]
            log.add(f"{scope['method']} {scope['path']} {kind}".rstrip())
            if is_stream_open and scope["method"] == "GET" and scope["path"] == "/sse" and not kind:
                open_to_all = (b"authorization", f"Bearer {provider.anyone(f'{base}/')}".encode())
                scope = {**scope, "headers": [*scope["headers"], open_to_all]}
        await (issue if scope.get("path") == "/auth/token" else outer)(scope, receive, send)

    return logged


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("port", type=int)
    options.add_argument("log", type=Path)
    options.add_argument("--lifetime", type=int, default=3600)
    options.add_argument("--silent", action="store_true", help="do not say how long a token is valid")
    options.add_argument("--denies", action="store_true", help="nobody gets a token")
    options.add_argument("--rejects", action="store_true", help="no token is accepted")
    options.add_argument("--accepts-once", action="store_true", help="each token is accepted for one request")
    options.add_argument("--wants-more", action="store_true", help="no token is enough")
    options.add_argument("--delay", type=float, default=0, help="seconds before tokens are issued")
    options.add_argument("--sse", action="store_true")
    options.add_argument("--open-stream", action="store_true", help="streams need no token")
    given = options.parse_args()
    log = Log(given.log)
    provider = Provider(
        log,
        lifetime=given.lifetime,
        says_lifetime=not given.silent,
        denies=given.denies,
        rejects=given.rejects,
        accepts_once=given.accepts_once,
        wants_more=given.wants_more,
    )
    app = application(
        f"http://127.0.0.1:{given.port}",
        provider,
        log,
        is_sse=given.sse,
        is_stream_open=given.open_stream,
        delay=given.delay,
    )
    uvicorn.run(app, host="127.0.0.1", port=given.port, log_level="warning")


if __name__ == "__main__":
    main()
