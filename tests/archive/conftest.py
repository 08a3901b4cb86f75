from __future__ import annotations

from pathlib import Path

import pytest
from tests.archive.families import make_family
from tests.disk.conftest import open_folder, unprivileged  # noqa: F401 - fixtures needed here too

from stenograph.archive import Archive


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "data" / "archive")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project folder with one family, long at rest."""
    return make_family(tmp_path / "home")
