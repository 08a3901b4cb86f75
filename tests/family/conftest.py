"""Folders that cannot be read, for tests that need a user without privileges."""

from tests.disk.conftest import open_folder, unprivileged  # noqa: F401 - fixtures needed here too
