"""The SDK's OAuth client over stored logins.

It restores what the SDK forgets between processes (python-sdk #3250): when tokens expire, and where the authorization server is.
Without these, tokens would never be refreshed, or at an address that is only a guess.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from stenograph.agent.mcp.config import ServerConfig
from stenograph.agent.mcp.logins import Login, Logins
from stenograph.records import Json

#: The SDK wants an address for the browser, also where none is opened.
_NO_BROWSER = "http://127.0.0.1/callback"
#: Unix time; 0 would be no time to the SDK.
_LONG_AGO = 1.0


def stored_tokens(server: ServerConfig, logins: Logins, *, refused: str = "") -> OAuthClientProvider:
    """Sends and refreshes the tokens of the stored login, if any. `refused`: an access token to refresh, however new it is."""
    return _provider(server.url, _Storage(server, logins, refused=refused), _NO_BROWSER)


def new_login(
    server: ServerConfig,
    logins: Logins,
    *,
    redirect_uri: str,
    show: Callable[[str], Awaitable[None]],
    answer: Callable[[], Awaitable[AuthorizationCodeResult]],
) -> OAuthClientProvider:
    """Registers anew and stores a login. `show` gets the address to log in at; `answer` awaits what comes to `redirect_uri`."""
    return _provider(server.url, _Storage(server, logins, is_new=True), redirect_uri, show, answer)


class _Storage:
    """The SDK's `TokenStorage`. A registration is stored with its first tokens, so that a failed login changes nothing."""

    provider: OAuthClientProvider

    def __init__(self, server: ServerConfig, logins: Logins, *, refused: str = "", is_new: bool = False) -> None:
        self._server = server
        self._logins = logins
        self._refused = refused
        self._is_new = is_new
        self._client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        login = None if self._is_new else self._logins.read(self._server)
        try:
            return self._restore(login) if login is not None else None
        except ValidationError:  # written by another SDK version; logging in again fixes it
            return None

    def _restore(self, login: Login) -> OAuthToken:
        context = self.provider.context
        tokens = OAuthToken.model_validate(login.tokens)
        client = OAuthClientInformationFull.model_validate(login.client)
        if login.authorization_server is not None:
            context.oauth_metadata = OAuthMetadata.model_validate(login.authorization_server)
        if login.resource is not None:
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(login.resource)
        context.token_expiry_time = _LONG_AGO if tokens.access_token == self._refused else login.expires_at
        self._client = client
        return tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Raises LoginError, DiskError."""
        context = self.provider.context
        login = Login(
            server=self._server.name,
            url=self._server.url,
            tokens=_json(tokens),
            client=_json(context.client_info),
            expires_at=context.token_expiry_time,
            authorization_server=_json(context.oauth_metadata) or None,
            resource=_json(context.protected_resource_metadata) or None,
        )
        if not self._is_new:  # held already, to be refreshed
            return self._logins.write(self._server, login)
        async with self._logins.hold(self._server):
            return self._logins.write(self._server, login)


def _provider(
    url: str,
    storage: _Storage,
    redirect_uri: str,
    show: Callable[[str], Awaitable[None]] | None = None,
    answer: Callable[[], Awaitable[AuthorizationCodeResult]] | None = None,
) -> OAuthClientProvider:
    # It logs what servers answer.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    metadata = OAuthClientMetadata(
        client_name="Stenograph",
        redirect_uris=[AnyUrl(redirect_uri)],
        token_endpoint_auth_method="none",  # as Claude Code: a program on the user's machine can't keep a secret
    )
    storage.provider = OAuthClientProvider(url, metadata, storage, redirect_handler=show, callback_handler=answer)
    return storage.provider


def _json(value: BaseModel | None) -> Json:
    return value.model_dump(mode="json", exclude_none=True) if value is not None else {}
