"""Every exception that Stenograph raises, in one tree.

    StenographError                    anything this package raises on purpose
    ├── UsageError                     the caller asked for something impossible
    │   ├── SessionNotFoundError       nothing matches the reference
    │   ├── AmbiguousSessionError      more than one session matches it
    │   ├── UnprovedPlanError          a real client would not send what an edit promises
    │   └── ConfigError                the config file, or a variable, can't be understood
    ├── DiskError                      the file system said no
    │   ├── UnreadableError            a file or directory cannot be read
    │   ├── UnwritableError            a file or directory cannot be written
    │   └── BusyError                  a file is in use, or was changed meanwhile
    ├── NetworkError                   there is no connection to a server, or no response on it that can be used
    │   ├── NetworkTimeoutError        it took too long
    │   ├── UnknownHostError           a name has no address
    │   ├── UntrustedCertificateError  the certificate is not valid, or its authority is not trusted
    │   ├── UnreadableCertificateError a file with certificates or a key can't be used
    │   ├── CertificateRequiredError   the server wants a certificate of ours
    │   ├── ProxyRefusedError          the proxy does not connect to the server
    │   └── MalformedResponseError     what came is not HTTP, or ended too early
    ├── DeliveryError                  a trace receiver did not accept them
    ├── LoginError                     a login to an MCP server can't be made or used
    ├── HeaderRefusedError             an MCP server does not accept the header that the user configured
    ├── ModelError                     the model's endpoint gave no answer, or none that can be used
    │   ├── UnreachableError           there is no connection, or it ended too early
    │   └── RefusedError               the endpoint answered with an error
    └── RecordError                    a line that can't be taken as it is
        ├── DamagedLineError           the line holds no JSON object; in strict mode
        ├── UnknownKindError           a kind of record that is not described here; in strict mode
        └── FieldError                 a field is needed and missing, or can't be changed as asked

Errors carry where they happened, never what a transcript says. They have up to three parts: what happened, why, and what to
try. Their text is all of them in one line; `steno` prints each on a line of its own.
"""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def in_quotes(text: str) -> str:
    """What a user gave, for a message: in double quotes, with control characters as escapes."""
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in text.replace('"', '\\"')
    )
    return f'"{shown}"'


class StenographError(Exception):
    """The base class of all errors that Stenograph raises."""

    def __init__(self, what: str, *, why: str = "", hint: str = "") -> None:
        super().__init__(what)
        #: What happened: a lower-case clause without a full stop.
        self.what = what
        #: The reason, with names, counts and choices: a clause like `what`, or empty.
        self.why = why
        #: What to try: a command that can be pasted, or an instruction; or empty.
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        """With its attributes, however it was made: processes that read sessions send their errors to the one that asked."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.what, self.why, self.hint and f"try: {self.hint}")))


class UsageError(StenographError):
    """The caller asked for something impossible."""


class SessionNotFoundError(UsageError):
    """No session matches a reference."""

    def __init__(self, what: str, *, why: str = "", hint: str = "", reference: str = "") -> None:
        super().__init__(what, why=why, hint=hint)
        self.reference = reference


class ArchivedSessionError(SessionNotFoundError):
    """Only the archive has the session: it has to be restored first. `reference` is its id."""


class AmbiguousSessionError(UsageError):
    """Several sessions match a reference; `matches` names them."""

    def __init__(self, what: str, *, why: str = "", hint: str = "", reference: str, matches: Sequence[str]) -> None:
        super().__init__(what, why=why, hint=hint)
        self.reference = reference
        self.matches = tuple(matches)


class UnprovedPlanError(UsageError):
    """A real client would not send what an edit promises, so the edit is refused."""


class ConfigError(UsageError):
    """The config file, or a variable, can't be understood."""


class DiskError(StenographError):
    """The file system said no."""

    def __init__(self, what: str, *, why: str = "", hint: str = "", path: Path) -> None:
        super().__init__(what, why=why, hint=hint)
        self.path = path


class UnreadableError(DiskError):
    """A file or directory cannot be read."""


class UnwritableError(DiskError):
    """A file or directory cannot be written."""


class BusyError(DiskError):
    """A file is in use, or was changed meanwhile: nothing was written."""


class NetworkError(StenographError):
    """There is no connection to a server, or no response on it that can be used. `model` and `traces` say whose server it was."""

    def __init__(self, reason: str, *, errno: int = 0) -> None:
        super().__init__(f"cannot reach the server ({reason})")
        #: What happened, in a word or two; never what a server said.
        self.reason = reason
        #: The system's number for it; 0 where there is none.
        self.errno = errno


class NetworkTimeoutError(NetworkError):
    """It took too long."""


class UnknownHostError(NetworkError):
    """A name has no address."""


class UntrustedCertificateError(NetworkError):
    """The certificate is not valid, or its authority is not trusted."""

    def __init__(self, reason: str, *, is_proxy: bool = False) -> None:
        super().__init__(reason)
        #: Not the server's, but that of the proxy before it.
        self.is_proxy = is_proxy


class UnreadableCertificateError(NetworkError):
    """A file with certificates or a key can't be used."""

    def __init__(self, variables: str) -> None:
        super().__init__(f"check {variables}")
        #: The variables that name it.
        self.variables = variables


class CertificateRequiredError(NetworkError):
    """The server wants a certificate of ours."""


class ProxyRefusedError(NetworkError):
    """The proxy does not connect to the server."""

    def __init__(self, status: int = 0) -> None:
        super().__init__(f"the proxy answered with HTTP {status}" if status else "the proxy refused")
        #: Of HTTP; 0 for SOCKS.
        self.status = status


class MalformedResponseError(NetworkError):
    """What came is not HTTP, or ended too early."""


class DeliveryError(StenographError):
    """A trace receiver did not accept them. Nothing is lost: they can be sent again."""

    def __init__(self, message: str, *, is_permanent: bool = False, status: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(message)
        #: Trying again does not help until something is changed.
        self.is_permanent = is_permanent
        #: Of HTTP; 0 where there was no answer.
        self.status = status
        #: Seconds that the receiver asked for.
        self.retry_after = retry_after


class LoginError(StenographError):
    """A login to an MCP server can't be made or used.

    It was refused, took too long or brought no tokens; there is no port for the browser or no place for the tokens; they can't be
    refreshed; or the server is not connected even with them.
    """


class HeaderRefusedError(StenographError):
    """An MCP server does not accept the header that the user configured."""


class ModelError(StenographError):
    """The model's endpoint gave no answer, or none that can be used."""

    def __init__(
        self, message: str, *, status: int = 0, kind: str = "", request_id: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        #: Of HTTP; 0 where there was no answer.
        self.status = status
        #: The endpoint's own word for the error (`overloaded_error`); empty where it gave none.
        self.kind = kind
        self.request_id = request_id
        #: Seconds that the endpoint asked for; None where it did not.
        self.retry_after = retry_after


class UnreachableError(ModelError):
    """There is no connection to the endpoint, or it ended before the answer did."""


class RefusedError(ModelError):
    """The endpoint answered with an error: its status and kind say which."""


class RecordError(StenographError):
    """A line that can't be taken as it is."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class DamagedLineError(RecordError):
    """The line holds no JSON object."""


class UnknownKindError(RecordError):
    """A kind of record that is not described here."""


class FieldError(RecordError):
    """A field is needed and missing, or can't be changed as asked."""
