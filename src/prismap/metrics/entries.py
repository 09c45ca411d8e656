"""Rows that are no vectors, as models take them: entries of a matrix against some of the fitted rows, or objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from prismap.metrics.anchors import FittedIndex


@dataclass(frozen=True, eq=False)
class EntryRows:
    """Some rows of matrix data or objects; ``rows[index]`` are some of them.

    Attributes
    ----------
    data : the fitted metric of the data's own distances.
    index : numbers of fitted rows, or None for new ones.
    new : new rows as the metric takes them: entries against all fitted rows, or objects.
    """

    data: Any
    index: np.ndarray | None = None
    new: Any = None

    def __len__(self):
        return len(self.new) if self.index is None else len(self.index)

    def __getitem__(self, index):
        return EntryRows(self.data, None, self.new[index]) if self.index is None else EntryRows(
            self.data, self.index[index])  # fmt: skip

    @property
    def shape(self):
        """As many columns as fitted rows, which each row has an entry against."""
        return (len(self), self.data.n_rows_)

    def against(self, columns):
        """Entries against some of the fitted rows, as they were given."""
        return self.data.values_to(self.new if self.index is None else FittedIndex(self.index), columns)

    def things(self):
        """The rows themselves: objects as a list, rows of a matrix by their entries against all fitted rows."""
        if self.data.kind != "objects":
            return self.against(slice(None))
        return (self.new if self.index is None else self.data.rows_[self.index]).tolist()
