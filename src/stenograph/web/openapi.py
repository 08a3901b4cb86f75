"""The API's document (OpenAPI 3.1), made from the table of questions, their parameters and the page types of their answers."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

from stenograph.version import __version__
from stenograph.views import ErrorPage, field_docs, schema_components
from stenograph.web.api import ACTIONS, API, ENDPOINTS, PATH_PARAMETERS, Operation
from stenograph.web.parameters import Parameters

_PLACE = "#/components/schemas/{name}"
#: What any question may be answered with.
_ERRORS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_URI_TOO_LONG,
    HTTPStatus.SERVICE_UNAVAILABLE,
)


@cache
def openapi_document() -> dict[str, Any]:
    """The whole document, as JSON values."""
    bodies = [action.body for action in ACTIONS if action.body is not None]
    answers = {endpoint.answer for endpoint in (*ENDPOINTS, *ACTIONS)} | {ErrorPage}
    _, schemas = schema_components([*bodies, *sorted(answers, key=lambda each: each.__name__)], _PLACE)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in (*ENDPOINTS, *ACTIONS):
        paths.setdefault(API + endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Stenograph",
            "version": __version__,
            "description": "Claude Code sessions on this machine. `steno web --json` prints the address and the token.",
        },
        "servers": [{"url": "http://127.0.0.1"}],
        "security": [{"token": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "What `steno web` printed."},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "steno-PORT", "description": "Set when the link is opened."},
            },
        },
    }


def _operation(endpoint: Operation) -> dict[str, Any]:
    answers: dict[str, Any] = {"200": _answer("OK", endpoint.answer.__name__)}
    if endpoint.paged_by:
        answers["200"]["headers"] = {"Link": {"description": "The next page, if there is one.", "schema": {"type": "string"}}}
    if endpoint.method == "GET":
        answers["304"] = {"description": "Not changed since the ETag that was sent."}
    answers |= {str(status.value): _answer(status.phrase, ErrorPage.__name__) for status in _ERRORS}
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": [*map(_path_parameter, endpoint.names), *_query_parameters(endpoint.query)],
        "responses": answers,
    }
    if endpoint.body is not None:
        for status in (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE):
            answers[str(status.value)] = _answer(status.phrase, ErrorPage.__name__)
        schema = {"$ref": _PLACE.format(name=endpoint.body.__name__)}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return operation


def _answer(words: str, name: str) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": {"$ref": _PLACE.format(name=name)}}}}


def _path_parameter(name: str) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 1, "maximum": 999_999_999} if name == "line" else {"type": "string"}
    return {"name": name, "in": "path", "required": True, "description": PATH_PARAMETERS[name], "schema": schema}


def _query_parameters(kind: type[Parameters]) -> list[dict[str, Any]]:
    _, schemas = msgspec.json.schema_components([kind], ref_template="{name}")
    found = schemas[kind.__name__]
    documented = field_docs(kind)
    return [
        {
            "name": name,
            "in": "query",
            "required": name in found.get("required", ()),
            **({"description": documented[name]} if name in documented else {}),
            "schema": _without_null(schema),
        }
        for name, schema in found["properties"].items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that may be left out, described as what it is where it is given."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    found: dict[str, Any] = choices[0] if len(choices) == 1 else schema
    if "enum" in found:
        found = {**found, "enum": [each for each in found["enum"] if each is not None]}
    default = schema.get("default")
    return {name: value for name, value in found.items() if name != "default"} | ({} if default is None else {"default": default})
