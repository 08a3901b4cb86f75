"""The Messages API client; nothing else calls a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.model import events
    from stenograph.model.assembly import TOKEN_COUNTS
    from stenograph.model.client import ModelClient
    from stenograph.model.encoding import CACHE_TTL, Request
    from stenograph.model.endpoint import Endpoint, endpoint_from_environment
    from stenograph.model.events import Retrying

_MODULES = {
    "assembly": "TOKEN_COUNTS",
    "client": "ModelClient",
    "encoding": "CACHE_TTL Request",
    "endpoint": "Endpoint endpoint_from_environment",
    "events": "Retrying events",
}

__all__ = [
    "CACHE_TTL",
    "TOKEN_COUNTS",
    "Endpoint",
    "ModelClient",
    "Request",
    "Retrying",
    "endpoint_from_environment",
    "events",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
