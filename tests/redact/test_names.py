"""Structured values keep their names: what a member is called decides whether its value is a secret."""

from __future__ import annotations

from typing import Any

import pytest

from stenograph.redact import Masker

SECRET = "kT9vQ2mLx8WzAA1"
MASKED = "[assigned-secret:1]"

#: A value with `SECRET` in it where one of ours stands in the masked one.
NAMED: list[Any] = [
    {"password": SECRET},
    {"api_key": SECRET, "url": "https://example.org"},
    {"env": {"DB_PASSWORD": SECRET, "PATH": "/usr/bin"}},
    {"input": {"deep": [{"clientSecret": SECRET}]}},
    {"credentials": {"user": "anna", "value": SECRET}},
    {"token": [SECRET]},
    {"auth": {"bearer": [{"key": "x", "value": SECRET}]}},
    {"Authorization": f"Basic {SECRET}"},
    {"authorization": f"token {SECRET}"},
    {"authorization": SECRET},
    {"headers": {"X-Api-Key": SECRET}},
    {"headers": [{"name": "Authorization", "value": f"ApiKey {SECRET}"}]},
    {"headers": [["Authorization", f"Basic {SECRET}"], ["Accept", "*/*"]]},
    {"headers": ["Accept", "*/*", "Proxy-Authorization", f"Basic {SECRET}"]},
    {"header": {"Cookie": f"session={SECRET}"}},
    {"header": {"Set-Cookie": f"session={SECRET}; Path=/; HttpOnly"}},
    [{"name": "DB_PASSWORD", "value": SECRET}],
    [{"key": "password", "value": {"stringValue": SECRET}}],
    {"fields": [{"name": "Password", "type": "textbox", "ref": "e12", "value": SECRET}]},
    {"args": ["mysql", "--password", SECRET, "-h", "db"]},
]


@pytest.mark.parametrize("value", NAMED, ids=str)
def test_a_value_is_masked_by_its_name(value: Any) -> None:
    masker = Masker()
    masked = masker.mask_json(value)
    assert masked == _replaced(value)
    assert (masker.count, masker.different) == (1, 1)


def _replaced(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _replaced(member) for name, member in value.items()}
    return [_replaced(item) for item in value] if isinstance(value, list) else value.replace(SECRET, MASKED)


@pytest.mark.parametrize(
    "value", ["hunter2", "correct horse", "pa$$(word)", "Sommer!", "kT12345vQ2", "zabcdeTq9f", 48215, "a/b c"]
)
def test_a_password_is_masked_whatever_it_looks_like(value: Any) -> None:
    assert Masker().mask_json({"password": value, "user": "anna"}) == {"password": MASKED, "user": "anna"}


@pytest.mark.parametrize(
    "value",
    [
        {"password": "string"},
        {"password": {"type": "string", "description": "At least 8 characters"}},
        {"required": ["password", "username"]},
        {"password": "${DB_PASSWORD}"},
        {"password": "<your password>"},
        {"api_key": "ANTHROPIC_API_KEY"},
        {"api_key": "{{ secrets.KEY }}"},
        {"secret": "********"},
        {"secret": ""},
        {"secret": None},
        {"password": True},
        {"private_key": "/etc/ssl/private/host.pem"},
        {"credentials": "include"},
        {"token": "identifier", "type": "word"},
        {"next_token": "a1b2c3d4e5f6"},
        {"usage": {"input_tokens": 123456, "output_tokens": 9876}},
        {"max_tokens": 64000},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer ${TOKEN}"},
        {"Authorization": "Basic authentication"},
        {"cookie": "chocolate chip"},
        {"key": "3f9a1c52b07e4d68", "value": "a1b2c3d4e5"},
        {"sessionId": "3e5b0983-6394-4b28-9312-8c085518a9ff"},
        {"session_token": "3e5b0983-6394-4b28-9312-8c085518a9ff"},
        ["token", "punctuation"],
        {"author": "a1b2c3d4e5f6"},
        {"password": "[assigned-secret:3]"},
    ],
    ids=str,
)
def test_what_stands_for_a_secret_or_is_none_stays(value: Any) -> None:
    masker = Masker()
    assert masker.mask_json(value) == value
    assert masker.count == 0


def test_a_known_format_names_the_secret_of_a_member() -> None:
    token = "ghp_" + "aB1" * 12
    masked = Masker().mask_json({"GITHUB_TOKEN": token, "password": f"x {token}", "Authorization": f"Bearer {token}"})
    assert masked == {
        "GITHUB_TOKEN": "[github-token:1]",
        "password": "[assigned-secret:1]",
        "Authorization": "Bearer [github-token:1]",
    }


def test_a_value_is_the_same_secret_under_a_name_and_in_a_text() -> None:
    masked = Masker().mask_json({"password": SECRET, "command": f"login --user a password={SECRET}"})
    assert masked == {"password": MASKED, "command": f"login --user a password={MASKED}"}
