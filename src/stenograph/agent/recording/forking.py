"""A fork: a clone of what is resumed, in this directory's project. The original stays as it is."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

from stenograph.agent.engine.options import AgentOptions
from stenograph.agent.recording.opening import refuse_used, session_path
from stenograph.archive import Archive, default_archive_folder
from stenograph.errors import UsageError
from stenograph.graph import Graph, choose_leaf
from stenograph.records import ChainedRecord
from stenograph.releases import NEWEST
from stenograph.surgery import apply_clone, plan_clone


def fork(path: Path, graph: Graph, options: AgentOptions) -> Path:
    session_id = options.session_id or str(uuid4())
    target = session_path(options, session_id)
    refuse_used(target, session_id)
    leaf = choose_leaf(graph, NEWEST)
    record = graph.records[leaf] if leaf >= 0 else None
    if not isinstance(record, ChainedRecord) or not record.uuid:
        raise UsageError(f"{path} holds no conversation that can be forked; `steno check {path}` says what is wrong")
    plan = plan_clone(path, at=record.uuid, to_project=target.parent, new_id=session_id, as_fork=True)
    apply_clone(plan, Archive(default_archive_folder(os.environ)))
    return target
