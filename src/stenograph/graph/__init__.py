"""Records -> one connected graph per family: parents, branches, what came before what. Anything odd becomes a finding."""

from stenograph.graph.build import NOWHERE, Graph, GraphFile, ancestors, build_graph, link_graph
from stenograph.graph.chains import choose_leaf, current_chain, walk_chain
from stenograph.graph.readings import Reading, ReadingHabits, forget_readings, read_graph, reading_habits

__all__ = [
    "NOWHERE",
    "Graph",
    "GraphFile",
    "Reading",
    "ReadingHabits",
    "ancestors",
    "build_graph",
    "choose_leaf",
    "current_chain",
    "forget_readings",
    "link_graph",
    "read_graph",
    "reading_habits",
    "walk_chain",
]
