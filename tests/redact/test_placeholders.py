"""With a key, placeholders are the same everywhere and tell nothing."""

from __future__ import annotations

import hashlib
import hmac
import subprocess
import sys

from stenograph.redact import Masker

_TOKEN = "ghp_" + "aB1" * 12
_OTHER = "ghp_" + "aB2" * 12


def test_a_key_makes_one_placeholder_of_one_secret() -> None:
    mark = hmac.new(b"key", _TOKEN.encode(), hashlib.sha256).hexdigest()[:12]
    assert Masker(key=b"key").mask(f"a {_TOKEN} b") == f"a [github-token:{mark}] b"


def test_the_placeholder_does_not_depend_on_what_came_before_nor_on_the_process() -> None:
    code = "import sys; from stenograph.redact import Masker; print(Masker(key=b'key').mask(sys.argv[1]), end='')"
    other_process = subprocess.run([sys.executable, "-c", code, _TOKEN], capture_output=True, text=True, check=True).stdout
    masker = Masker(key=b"key")
    masker.mask(_OTHER)
    assert masker.mask(_TOKEN) == other_process
    assert masker.mask(_OTHER) != other_process


def test_another_key_makes_another_placeholder() -> None:
    assert Masker(key=b"one").mask(_TOKEN) != Masker(key=b"two").mask(_TOKEN)


def test_without_a_key_they_are_numbered() -> None:
    assert Masker().mask(f"{_OTHER} {_TOKEN}") == "[github-token:1] [github-token:2]"


def test_keyed_placeholders_are_left_alone_when_masked_again() -> None:
    masker = Masker(key=b"key")
    text = f"{_TOKEN} x://u:pass1word@h password=q7Zp2mX9kd; a=1;Password=hunter2; Bearer {'a1' * 12}"
    once = masker.mask(text)
    assert masker.count == 5
    assert Masker(key=b"key").mask(once) == once


def test_a_lone_surrogate_in_a_secret_is_no_error() -> None:
    assert Masker(key=b"key").mask("x://u:pa\ud83dss@h").startswith("x://u:[url-password:")
