"""Recorded and public sessions as one home, indexed once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.corpora import CORPUS, FIXTURES, without_agents

from stenograph.index import IndexStore, open_store, sync


def corpus_files() -> dict[str, Path]:
    """By a name of its own: every session file."""
    files = [*without_agents((FIXTURES / "recorded").rglob("*.jsonl")), *without_agents(CORPUS.rglob("*.jsonl"))]
    return {f"{number:08x}-2222-4333-8444-555555555555": path for number, path in enumerate(files, 1)}


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("corpus")
    for number, (name, path) in enumerate(corpus_files().items()):
        target = home / "projects" / f"-p{number % 40}" / f"{name}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return home


@pytest.fixture(scope="session")
def corpus_store(corpus: Path) -> IndexStore:
    store = open_store(None)
    assert sync(store, [corpus]).pending == 0
    return store
