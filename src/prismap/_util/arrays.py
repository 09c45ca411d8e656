"""Names of the arrays that functions take and give, and the few columns of wide sparse rows."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Rows = NDArray[np.intp]
#: The smallest number above 0, which keeps quotients and logarithms finite.
TINY = np.finfo(np.float64).tiny
#: Columns beyond which work on each column takes longer than the work on the values of sparse rows.
WIDE = 10**7


def columns_of(rows: Any, columns: NDArray[Any]) -> Any:
    """Some columns of sparse rows, given in rising order: the same as ``rows[:, columns]``, whatever the other columns.

    scipy allocates an entry per column of `rows`, of which there may be 10^8.

    >>> columns_of(sp.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]), np.array([1, 2])).toarray().tolist()
    [[0.0, 2.0], [3.0, 0.0]]
    """
    place = np.minimum(np.searchsorted(columns, rows.indices), max(len(columns) - 1, 0))
    kept = columns[place] == rows.indices if len(columns) else np.zeros(len(place), dtype=bool)
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return sp.csr_array((rows.data[kept], place[kept], ends), shape=(rows.shape[0], len(columns)))
