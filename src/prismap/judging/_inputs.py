"""The data, the coordinates and the target of `judge`, checked once; what cannot be judged is refused in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from prismap._util.validation import explain_bad_values, refuse_tables
from prismap.exceptions import InputError
from prismap.target import ClassTarget, NoTarget, Target, make_target
from prismap.target._labels import check_target_length, missing_mask

FEWEST_ROWS, FEWEST_LABELS = 5, 10
TARGETS = ("auto", "class", "real", "none")


def as_rows(X: Any) -> NDArray[np.float64]:
    """The data as a finite array of rows that are not all the same."""
    if X is None or isinstance(X, str):
        raise InputError(f"judge takes data, a method that makes maps, or a PrisMap first; got {X!r}.")
    if type(X).__module__.split(".")[0] == "anndata":
        raise InputError(
            "X is AnnData. Pass entries of it: judge(adata.obsm['X_pca'], adata.obsm['X_umap'], adata.obs[...])."
        )
    refuse_tables(X)
    if sp.issparse(X):
        raise InputError(
            "X is sparse; judge needs a dense array: X.toarray(), or its leading components (TruncatedSVD)."
        )
    try:
        shape = np.shape(X)
    except ValueError as error:
        raise InputError("X must hold rows of features; its rows differ in length.") from error
    if len(shape) != 2:
        raise InputError(f"X must hold rows of features; got an array of shape {shape}.")
    if shape[0] < FEWEST_ROWS:
        raise InputError(f"X has {shape[0]} rows; at least {FEWEST_ROWS} are needed to judge a map.")
    try:
        rows: NDArray[np.float64] = check_array(X, dtype=np.float64, input_name="X")
    except (TypeError, ValueError) as error:
        text = "could not convert string" in str(error)
        raise InputError(
            "X must hold numbers; text was found. Encode it first, for instance with sklearn's OneHotEncoder."
            if text else explain_bad_values(X, str(error))
        ) from error  # fmt: skip
    if (np.ptp(rows, axis=0) == 0).all():
        raise InputError(f"X has the same values in all {len(rows)} rows: there is no structure that a map could keep.")
    return rows


def as_coordinates(Y: Any, n_rows: int) -> NDArray[np.float64]:
    """Coordinates of the same rows: finite, and not all in one place."""
    try:
        if np.iscomplexobj(Y):
            raise TypeError("complex numbers")
        masked = isinstance(Y, np.ma.MaskedArray)
        Y = Y.astype(np.float64).filled(np.nan) if masked else np.asarray(Y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        what = "text" if "could not convert string" in str(error) else type(Y).__name__
        raise InputError(f"Y must hold coordinates as numbers, rows by columns; got {what}.") from error
    if Y.ndim != 2 or not Y.shape[1]:
        raise InputError(f"Y must hold coordinates, rows by columns; got an array of shape {Y.shape}.")
    if len(Y) != n_rows:
        raise InputError(f"X has {n_rows} rows and Y has {len(Y)}: they must be the same rows in the same order.")
    bad = int((~np.isfinite(Y)).any(axis=1).sum())
    if bad:
        raise InputError(
            f"Y holds NaN or infinite values in {bad} of {n_rows} rows: leave these rows out of X, Y and y."
        )
    if (np.ptp(Y, axis=0) == 0).all():
        raise InputError(f"Y puts all {n_rows} rows in one place: that is no map.")
    return np.asarray(Y)


def as_target(y: Any, n_rows: int, kind: str, rows: Any) -> Target:
    """The target of judged rows, of which there must be enough to judge by."""
    if kind not in TARGETS:
        raise InputError(f"target must be one of {', '.join(TARGETS)}; got {kind!r}.")
    if y is None or kind == "none":
        return NoTarget.of(n_rows)
    if isinstance(y, Target):
        return make_target(y, n_rows)
    if np.ndim(y) == 1 and len(y) != n_rows:
        raise InputError(f"y has {len(y)} entries for {n_rows} rows: they must be equal in number.")
    if np.ndim(y) == 2 and np.shape(y)[1] > 1:
        if np.asarray(y).dtype.kind not in "biuf":
            raise InputError(f"y has {np.shape(y)[1]} columns, and not of numbers: judge one of them at a time.")
        kind = "real" if kind == "auto" else kind
    known = set() if kind == "real" else set(known_labels(y, n_rows))
    if kind in ("auto", "class") and len(known) < 2:
        what = f"one class ({next(iter(known))!s}) only" if known else "no label"
        raise InputError(
            f"y holds {what}, so there is nothing to tell apart. Use target='none' to judge structure alone."
        )
    target = make_target(y, n_rows, kind, X=rows)
    labelled = int(target.labelled.sum())
    if isinstance(target, ClassTarget) and labelled < FEWEST_LABELS:
        raise InputError(
            f"y labels {labelled} rows; at least {FEWEST_LABELS} are needed to judge by. "
            "Use target='none' to judge structure alone."
        )
    return target


def known_labels(y: Any, n_rows: int) -> list[Any]:
    """The labels that are not missing."""
    values = check_target_length(y, n_rows)
    return list(values[~missing_mask(values)].tolist())


def refuse_other_rows(*named: tuple[str, Any]) -> None:
    """Frames whose rows have names of their own must have them in the same order.

    Rows that are merely numbered 0, 1, 2, ... say nothing, and neither do names that have none in common.
    """
    indexed = [(name, index) for name, values in named if (index := _row_names(values)) is not None]
    for name, index in indexed[1:]:
        first, expected = indexed[0]
        comparable = len(index) == len(expected) and index.nlevels == expected.nlevels
        if not comparable or index.equals(expected) or not index.isin(expected).any():
            continue
        raise InputError(
            f"{first} and {name} have the same number of rows, but by their index not the same rows in the same order. "
            f"Use {name}.loc[{first}.index], or arrays if the index means nothing."
        )


def _row_names(values: Any) -> Any:
    """The index of a pandas object, unless it only numbers the rows."""
    index: Any = getattr(values, "index", None)
    if type(values).__module__.split(".")[0] != "pandas" or not hasattr(index, "equals"):
        return None
    numbered = index.dtype.kind in "iu" and np.array_equal(index, np.arange(len(index)))
    return None if numbered else index
