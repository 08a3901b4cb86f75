"""Records -> one connected graph per family: parents, branches, what came before what; everything odd as a finding."""

from stenograph.graph.build import NOWHERE, Graph, GraphFile, build_graph, flatten
from stenograph.graph.chains import Habits, choose_leaf, current_chain, habits_of, leaves, walk_chain

__all__ = [
    "NOWHERE",
    "Graph",
    "GraphFile",
    "Habits",
    "build_graph",
    "choose_leaf",
    "current_chain",
    "flatten",
    "habits_of",
    "leaves",
    "walk_chain",
]
