"""Records -> one connected graph per family: parents, branches, what came before what; everything odd as a finding."""

from stenograph.graph.build import NOWHERE, Graph, GraphFile, build_graph
from stenograph.graph.chains import choose_leaf, current_chain, walk_chain
from stenograph.graph.readings import Habits, Reading, habits_of, preserved_by, read_graph

__all__ = [
    "NOWHERE",
    "Graph",
    "GraphFile",
    "Habits",
    "Reading",
    "build_graph",
    "choose_leaf",
    "current_chain",
    "habits_of",
    "preserved_by",
    "read_graph",
    "walk_chain",
]
