"""What tests of files need where permissions count."""

from __future__ import annotations

from tests.disk.conftest import Unprivileged, open_folder, unprivileged

__all__ = ["Unprivileged", "open_folder", "unprivileged"]
