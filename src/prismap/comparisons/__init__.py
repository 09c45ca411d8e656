"""Objects that are not vectors, such as strings, series, trees, graphs and sets, and how two of them are compared."""

from prismap.comparisons._matrix import ComparisonMatrix
from prismap.comparisons._named import COMPARISONS, Comparison, get_comparison
from prismap.comparisons._objects import Evaluator, Objects
from prismap.comparisons._pivots import PivotNeighbors, neighbors_by_pivots
from prismap.comparisons._reading import Things, read_fasta, read_json_lines, text_column

__all__ = [
    "COMPARISONS",
    "Comparison",
    "ComparisonMatrix",
    "Evaluator",
    "Objects",
    "PivotNeighbors",
    "Things",
    "get_comparison",
    "neighbors_by_pivots",
    "read_fasta",
    "read_json_lines",
    "text_column",
]
