"""What a live explorer can do beyond showing: the contract of the object handed in, and one for a fitted map.

The explorer knows no metrics and no embeddings. Whoever starts it hands in an object with some of the methods of
`Compute`; the page offers what is there. `ModelCompute` makes one of a fitted map and two functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prismap.exceptions import InputError
from prismap.page_data import PageData
from prismap.page_data.columns import column_array, column_numbers, is_numeric
from prismap.tables import encoding_of, label_texts, read_table

Progress = Callable[..., None]
"""``progress(share, positions=None)``: how far it is from 0 to 1, and where the rows are by now."""
Cancel = Callable[[], bool]
"""True once the user has asked to stop."""
LocalRelevance = Callable[[NDArray[Any], NDArray[Any], NDArray[np.intp]], NDArray[Any]]


@dataclass(frozen=True)
class Placed:
    """New rows on the map: positions in the units of its first layer, and which of them lie far from all data.

    `columns` are those of the file, by the page's names, `target` is the target that the file has, and `about` are
    further columns, such as what the rows around them say.
    """

    positions: NDArray[Any]
    far: NDArray[np.bool_]
    ids: Sequence[str] | None = None
    notes: Sequence[str] = ()
    columns: Mapping[str, Any] = field(default_factory=dict)
    target: Any = None
    about: Mapping[str, Any] = field(default_factory=dict)


class Compute(Protocol):
    """All methods are optional. They run in a worker thread, several at once for several browsers."""

    def transform(self, path: Path) -> Placed:
        """Place the rows of a data file."""

    def relevance(
        self, rows: NDArray[np.intp], *, progress: Progress, cancel: Cancel
    ) -> tuple[Sequence[str], NDArray[Any]]:
        """Names of features and how much each matters for the neighbourhoods of these rows."""

    def target_relevance(self, rows: NDArray[np.intp]) -> tuple[Sequence[str], NDArray[Any], NDArray[Any]]:
        """Names of features, their shares in the change of the target around these rows, and around all rows."""

    def shape(
        self, groups: Sequence[NDArray[np.intp]], *, start: NDArray[np.float32], progress: Progress, cancel: Cancel
    ) -> tuple[NDArray[Any], Sequence[str], NDArray[Any]]:
        """Positions of all rows on a map that follows groups of rows, and how much each feature counts on it."""

    def reembed(
        self, supervision: float, *, start: NDArray[np.float32], progress: Progress, cancel: Cancel
    ) -> NDArray[Any]:
        """Positions of all rows with another weight of the target, beginning from `start`."""


class ModelCompute:
    """`Compute` for a fitted map (anything with `place`) and its page.

    Parameters
    ----------
    model : the fitted map; the encoding of its columns is taken from ``extra_header_["table"]`` when it is there
    page : PageData
    relevance : callable ``(X, Y, rows) -> values``, or None
        X holds the page's numeric columns, standardised; Y the positions of the first layer.
    reembed : callable as in `Compute`, or None
    about : callable ``(X) -> positions, far, columns``, or None
        Places rows like ``model.place`` and gives further columns of them.
    """

    supervision: float
    """The weight that the slider starts at, where there is one."""
    target_relevance: Callable[[NDArray[np.intp]], tuple[Sequence[str], NDArray[Any], NDArray[Any]]]
    """As in `Compute`, where there is one."""
    shape: Callable[..., tuple[NDArray[Any], Sequence[str], NDArray[Any]]]
    """As in `Compute`, where there is one."""

    def __init__(
        self,
        model: Any,
        page: PageData,
        *,
        relevance: LocalRelevance | None = None,
        reembed: Callable[..., NDArray[Any]] | None = None,
        about: Callable[[NDArray[Any]], tuple[NDArray[Any], NDArray[Any], Mapping[str, Any]]] | None = None,
    ):
        self._model = model
        self._about = about
        # The page offers what is there.
        if relevance is not None:
            self.relevance = partial(_column_relevance, page, relevance)
        if reembed is not None:
            self.reembed = reembed

    def transform(self, path: Path) -> Placed:
        """Read the file as the map's own data were read, and place its rows."""
        encoding = encoding_of(self._model)
        table = read_table(path, encoding.roles)
        encoded = encoding.apply(table)
        notes = [
            f"{count} missing values of {name!r} were filled as at the fit" for name, count in encoded.filled.items()
        ]
        notes += [
            f"column {name!r} has levels in {count} of the rows that the map has not seen"
            for name, count in encoded.unknown.items()
        ]
        ids = label_texts(table.ids)
        found = (*self._model.place(encoded.X), {}) if self._about is None else self._about(encoded.X)
        shown = encoding.shown(table)
        return Placed(found[0], np.asarray(found[1]), ids, notes, shown, table.target, found[2])


def _column_relevance(
    page: PageData, relevance: LocalRelevance, rows: NDArray[np.intp], *, progress: Progress, cancel: Cancel
) -> tuple[Sequence[str], NDArray[Any]]:
    """Relevance of the page's numeric columns for the neighbourhoods of `rows`."""
    names, X = _numeric_columns(page)
    if not names:
        raise InputError("the page has no numeric columns to compare.")
    progress(0.0)
    return names, relevance(X, np.asarray(page.layers[0].positions, dtype=np.float64), rows)


def _numeric_columns(page: PageData) -> tuple[list[str], NDArray[np.float64]]:
    """Names and standardised values of the columns that hold finite, varying numbers."""
    columns = {}
    for name, values in page.columns.items():
        array = column_array(values)
        if not is_numeric(array):
            continue
        array = column_numbers(array).astype(np.float64)
        spread = array.std()
        if np.isfinite(spread) and spread > 0:
            columns[str(name)] = (array - array.mean()) / spread
    return list(columns), np.column_stack(list(columns.values())) if columns else np.empty((page.n_rows, 0))
