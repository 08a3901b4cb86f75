"""A turn in the making."""

from __future__ import annotations

from msgspec import Struct

from stenograph.graph import NOWHERE
from stenograph.inputs import Input


class Draft(Struct):
    node: int
    opening: Input
    #: In file order.
    nodes: list[int]
    #: The opening of the turn before on its chain.
    previous: int = NOWHERE
    #: The opening of the turn inside which it was set aside.
    parted_from: int = NOWHERE
