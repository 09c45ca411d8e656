"""Objects that are not vectors, such as strings, series, trees, graphs and sets, and how two of them are compared."""

from prismap.comparisons._matrix import ComparisonMatrix
from prismap.comparisons._named import COMPARISONS, get_comparison
from prismap.comparisons._named import Comparison as Comparison
from prismap.comparisons._objects import Evaluator as Evaluator
from prismap.comparisons._objects import Objects
from prismap.comparisons._pivots import PivotNeighbors as PivotNeighbors
from prismap.comparisons._pivots import neighbors_by_pivots
from prismap.comparisons._reading import Things, read_fasta, read_json_lines, text_column

# Names that are imported "as" themselves are for other rooms, which share them; users need those of this list.
__all__ = [
    "COMPARISONS", "ComparisonMatrix", "Objects", "Things", "get_comparison", "neighbors_by_pivots", "read_fasta",
    "read_json_lines", "text_column",
]  # fmt: skip
