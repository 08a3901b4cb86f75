from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

NOBODY = 65534

Unprivileged = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user may reach, unlike tmp_path, whose parents are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="steno-test-"))
    folder.chmod(0o755)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def unprivileged() -> Unprivileged:
    """`with unprivileged():` permissions count. To root they mean nothing, so root becomes nobody for that while."""
    if sys.platform == "win32":
        pytest.skip("needs the permissions of POSIX systems")

    @contextlib.contextmanager
    def become_nobody() -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)

    return become_nobody
