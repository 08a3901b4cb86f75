"""What is loaded before the first answer: a command line waits for all of it."""

from __future__ import annotations

import subprocess
import sys

from tests.model.raw_endpoint import HELLO, RawEndpoint

PROGRAM = """
import asyncio, sys
from stenograph.model.client import ModelClient
from stenograph.model.endpoint import endpoint_from_environment
from stenograph.model.encoding import Request

async def run():
    client = ModelClient(endpoint_from_environment({"ANTHROPIC_BASE_URL": sys.argv[1], "ANTHROPIC_API_KEY": "k"}))
    await client.complete(Request(model="m", max_tokens=1, messages=[{"role": "user", "content": "hi"}]))
    await client.aclose()

asyncio.run(run())
print(*sys.modules)
"""
#: Each of these takes 3 ms or more, and a plain request needs none.
HEAVY = {"json", "email.utils", "http.client", "urllib.request", "pydantic", "httpx", "anthropic", "rich", "difflib"}


def test_a_plain_request_loads_nothing_that_it_does_not_need() -> None:
    with RawEndpoint([HELLO]) as server:
        done = subprocess.run([sys.executable, "-c", PROGRAM, server.url], capture_output=True, text=True, timeout=30, check=True)
    loaded = set(done.stdout.split())
    assert {"asyncio", "h11", "msgspec"} <= loaded
    assert not HEAVY & loaded
