"""Real trace receivers, installed from the package index into a cache, run on loopback and read back through their own APIs.

`Phoenix` and `MLflow` are what a test talks to; `install_receiver` and `shared_server` bring them up. What came back is plain
values (`ReceivedSpan`, `ReceivedTrace`, `ReceivedSession`). Knows nothing of sessions nor of how spans are made.
"""

from __future__ import annotations

from lab.locks import one_at_a_time
from lab.receivers.install import ReceiverMissing, default_receivers_folder, install_receiver
from lab.receivers.keeper import shared_server
from lab.receivers.mlflow import MLFLOW, MLflow
from lab.receivers.phoenix import PHOENIX, Phoenix
from lab.receivers.received import ReceivedSession, ReceivedSpan, ReceivedTrace
from lab.receivers.server import Receiver, Server

__all__ = [
    "MLFLOW",
    "PHOENIX",
    "MLflow",
    "Phoenix",
    "ReceivedSession",
    "ReceivedSpan",
    "ReceivedTrace",
    "Receiver",
    "ReceiverMissing",
    "Server",
    "default_receivers_folder",
    "install_receiver",
    "one_at_a_time",
    "shared_server",
]
