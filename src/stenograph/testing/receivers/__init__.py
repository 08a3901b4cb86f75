"""Real trace receivers, installed from the package index into a cache, run on loopback and read back through their own APIs.

`Phoenix` and `MLflow` are what a test talks to; `install_receiver` and `shared_server` bring them up. What came back is plain
values (`ReceivedSpan`, `ReceivedTrace`, `ReceivedSession`). Knows nothing of sessions nor of how spans are made.
"""

from __future__ import annotations

from stenograph.testing.receivers.install import ReceiverMissing, default_receivers_folder, install_receiver
from stenograph.testing.receivers.keeper import shared_server
from stenograph.testing.receivers.locks import one_at_a_time
from stenograph.testing.receivers.mlflow import MLFLOW, MLflow
from stenograph.testing.receivers.phoenix import PHOENIX, Phoenix
from stenograph.testing.receivers.received import ReceivedSession, ReceivedSpan, ReceivedTrace
from stenograph.testing.receivers.server import Receiver, Server

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
