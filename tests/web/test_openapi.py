"""The API asked by its own document: requests that it allows and that it forbids, none of which may break the server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi import checks
from tests.corpora import DEMO, ROOT
from tests.web.serving import Served, served

from stenograph.web.openapi import openapi_document

CHECKS = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]


def document() -> dict[str, Any]:
    """The document, with a session that exists half of the time."""
    found: dict[str, Any] = json.loads(json.dumps(openapi_document()))
    (first, *_) = sorted(path.stem for path in DEMO.rglob("projects/*/*.jsonl") if path.stat().st_size > 10_000)
    for methods in found["paths"].values():
        for operation in methods.values():
            for parameter in operation["parameters"]:
                if parameter["name"] == "session_id":
                    parameter["schema"] = {"anyOf": [{"type": "string", "enum": [first]}, {"type": "string", "minLength": 1}]}
    return found


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("demo")
    shutil.copytree(DEMO, home, dirs_exist_ok=True)
    with served(home, allow_edits=True) as running:
        yield running


load_all_checks()
schema = schemathesis.openapi.from_dict(document())


def check(case: schemathesis.Case[Any], viewer: Served) -> None:
    address, token = f"http://127.0.0.1:{viewer.access.port}", viewer.access.token
    case.call_and_validate(base_url=address, headers={"Authorization": f"Bearer {token}"}, checks=[not_a_server_error, *CHECKS])


# Bodies of edits take long to make.
@schema.exclude(path_regex="/edit$").parametrize()
@settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_no_request_breaks_the_server(case: schemathesis.Case[Any], viewer: Served) -> None:
    check(case, viewer)


@pytest.mark.full
@schema.parametrize()
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_breaks_the_server_of_many(case: schemathesis.Case[Any], viewer: Served) -> None:
    check(case, viewer)


def not_a_server_error(_: Any, response: schemathesis.Response, case: schemathesis.Case[Any]) -> None:
    assert response.status_code < 500, case.as_curl_command()


def test_the_document_in_the_repository_is_the_one_that_is_served(viewer: Served) -> None:
    assert viewer.ask("/api/v1/openapi.json").json == json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
