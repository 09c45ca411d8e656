"""Input checks whose messages name the argument, what was found and the way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

from prismap.exceptions import InputError

#: Magnitudes whose distances single precision can still tell; larger or smaller rows must be rescaled.
SMALLEST, LARGEST = 1e-35, 1e35
#: Magnitudes whose squares single precision can hold; rows outside are computed with in double.
SINGLE_SMALLEST, SINGLE_LARGEST = 1e-9, 1e15


def changed(estimator: Any, **params: Any) -> Any:
    """An unfitted copy with some parameters changed; unlike a clone it keeps models that are fitted as they are."""
    return type(estimator)(**{**estimator.get_params(deep=False), **params})


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator is ready for use; an object without `fit` has nothing to learn, a class is no estimator yet.

    >>> from sklearn.decomposition import PCA
    >>> is_fitted(PCA()), is_fitted(PCA().fit([[0.0], [1.0]])), is_fitted(abs), is_fitted(PCA)
    (False, True, True, False)
    """
    if isinstance(estimator, type):
        return False
    if not hasattr(estimator, "fit"):
        return True
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def check_rows(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    sparse: bool = False,
    dtype: Any = (np.float64, np.float32),
    min_rows: int = 1,
    missing: bool = False,
) -> Any:
    """Rows as a finite float array (or CSR when `sparse`), with scikit-learn's bookkeeping of columns on `estimator`.

    `missing` allows NaN in dense rows.
    float32 and float64 stay as they are, float16 becomes float32 and everything else float64.
    """
    refuse_tables(X)
    refuse_no_array(X, "X")
    X = np.asarray(X, dtype=np.float32) if getattr(X, "dtype", None) == np.float16 else X
    if not reset:
        refuse_other_columns(X, getattr(estimator, "feature_names_in_", None))
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # it adds the values up, which may be more than there is
            rows = validate_data(
                estimator, X, reset=reset, dtype=list(dtype) if isinstance(dtype, tuple) else dtype,
                accept_sparse="csr" if sparse else False, ensure_min_samples=min_rows,
                ensure_all_finite="allow-nan" if missing and not sp.issparse(X) else True,
            )  # fmt: skip
    except ValueError as error:
        raise InputError(explain_bad_values(X, str(error))) from error
    if reset:
        refuse_rounded_rows(X, rows)
    rows = with_short_indices(rows) if sp.issparse(rows) else rows
    return check_magnitude(rows, "X", smallest=SMALLEST if reset else 0.0)


def refuse_no_array(values: Any, name: str) -> None:
    """Containers whose entries have no order or no place, and records, are refused with what to pass instead."""
    if isinstance(values, (Set, Mapping, Iterator)) and not sp.issparse(values):  # a dok array is a mapping
        way_out = f"list({name})" if isinstance(values, Iterator) else "an array or a data frame"
        raise InputError(f"{name} is a {type(values).__name__}; entries in a fixed order are needed: pass {way_out}.")
    if isinstance(values, np.ndarray) and values.dtype.names is not None:
        raise InputError(
            f"{name} is an array of records ({', '.join(values.dtype.names[:4])}); an array of plain values is needed: "
            f"numpy.lib.recfunctions.structured_to_unstructured({name}), or a data frame."
        )


def refuse_rounded_rows(X: Any, rows: Any) -> None:
    """Rows of whole numbers that differ, and are equal once double precision has rounded them, are refused."""
    whole = not sp.issparse(X) and np.asarray(X).dtype.kind in "iu"
    if not whole or float(np.abs(rows).max(initial=0.0)) <= 2.0**53:  # whole numbers up to here are exact
        return
    merged = len(np.unique(np.asarray(X), axis=0)) - len(np.unique(rows, axis=0))
    if merged:
        raise InputError(
            f"X holds whole numbers up to {float(np.abs(rows).max()):.3g}. Double precision rounds them beyond 2^53, "
            f"and {merged} rows that differ would become equal. Subtract an offset from the columns first."
        )


def with_short_indices(rows: Any) -> Any:
    """Sparse rows with every place named once, by indices of 32 bits where these suffice: compiled code needs them."""
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    most = max(rows.nnz, *rows.shape)
    if rows.indices.dtype == np.int32 or most > np.iinfo(np.int32).max:
        return rows
    parts = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32))
    return type(rows)(parts, shape=rows.shape)


def check_magnitude(rows: Any, name: str, *, smallest: float = 0.0, largest: float = LARGEST) -> Any:
    """Rows whose squared distances are numbers: in double precision where single cannot hold them, refused beyond.

    New rows may be of any small magnitude, because the fitted ones set the scale.
    """
    values = rows.data if sp.issparse(rows) else rows
    magnitude = float(max(np.fmax.reduce(values, None, initial=0.0), -np.fmin.reduce(values, None, initial=0.0)))
    if magnitude > largest or 0 < magnitude < smallest:
        raise InputError(
            f"the values of {name} reach up to {magnitude:.3g} in magnitude: squared distances between such rows are "
            "beyond floating-point numbers. Rescale them, for instance with sklearn.preprocessing.StandardScaler."
        )
    single = rows.dtype == np.float32 and magnitude > 0
    return rows.astype(np.float64) if single and not SINGLE_SMALLEST <= magnitude <= SINGLE_LARGEST else rows


def take_columns(estimator: Any, metric: Any) -> None:
    """The names and number of columns, as the metric of an estimator learned them."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(metric, name):
            setattr(estimator, name, getattr(metric, name))


def metric_tags(tags: Any, metric: Any) -> Any:
    """scikit-learn's tags of an estimator, with those of the rows that its `metric` (a name or an object) takes."""
    inner = getattr(metric, "__sklearn_tags__", None)
    tags.input_tags.pairwise = metric == "precomputed" if inner is None else inner().input_tags.pairwise
    tags.input_tags.sparse = inner is None and metric == "euclidean"
    tags.target_tags.required = inner is not None and inner().target_tags.required
    return tags


def refuse_tables(X: Any) -> None:
    """What `PrisMap.from_table` and `from_anndata` are for is refused with the line to use."""
    if type(X).__module__.split(".")[0] == "anndata":
        raise InputError(
            "X is an AnnData object. Use PrisMap.from_anndata(adata, target=...), or pass one of its matrices, such as "
            "adata.obsm['X_pca']."
        )
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    kinds = list(X.dtypes.values) if hasattr(X.dtypes, "values") else list(X.dtypes)
    words = ("object", "string", "utf8", "categor", "str", "enum", "date", "time")
    text = [
        str(name)
        for name, kind in zip(X.columns, kinds, strict=True)
        if any(word in str(kind).lower() for word in words) and not _is_numeric_object(X, name, str(kind))
    ]
    if text:
        raise InputError(
            f"X has columns that are not numbers: {_shorten(text)}. PrisMap.from_table(df, target=...) encodes text, "
            "categories and dates by itself; or encode them first, for instance with "
            "sklearn.preprocessing.OneHotEncoder, or drop them."
        )


def _is_numeric_object(X: Any, name: Any, kind: str) -> bool:
    """Object columns that hold numbers are no text; scikit-learn converts them. (It would convert dates too.)"""
    if "date" in kind.lower() or "time" in kind.lower():
        return False
    try:
        np.asarray(X[name], dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


def refuse_other_columns(X: Any, expected: NDArray[Any] | None) -> None:
    """Other column names, or another order, than at fit are refused with a diff."""
    if expected is None or not hasattr(X, "columns"):
        return
    names = [str(name) for name in X.columns]
    wanted = [str(name) for name in expected]
    if names == wanted:
        return
    # The first two sentences are scikit-learn's own, which its estimator checks look for.
    lines = ["The feature names should match those that were passed during fit."]
    if sorted(names) == sorted(wanted):
        lines.append("Feature names must be in the same order as they were in fit.")
        lines.append("The names are the same: pass X[model.feature_names_in_] to restore the order.")
    else:
        unseen = [name for name in names if name not in set(wanted)]
        missing = [name for name in wanted if name not in set(names)]
        if unseen:
            lines.append("Feature names unseen at fit time:\n" + "".join(f"- {name}\n" for name in sorted(unseen)[:5]))
        if missing:
            lines.append(
                "Feature names seen at fit time, yet now missing:\n" + "".join(f"- {n}\n" for n in sorted(missing)[:5])
            )
    diff = [line for line in difflib.unified_diff(wanted, names, "fit", "now", lineterm="", n=0) if line[:2] != "@@"]
    raise InputError("\n".join([*lines, *diff[:22]]))


def explain_bad_values(X: Any, message: str) -> str:
    """scikit-learn's message, with how many values are bad and where, when it is about NaN or infinity."""
    if message.startswith("Complex data not supported"):  # and then all of them
        return "Complex data not supported: give real and imaginary parts as columns of their own."
    if "NaN" not in message and "infinity" not in message:
        return message
    try:
        values = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    except (TypeError, ValueError):
        return message
    if values.ndim != 2:
        return message
    bad = np.isinf(values) if "NaN" not in message else ~np.isfinite(values)
    names = (
        [str(name) for name in X.columns] if hasattr(X, "columns") else [f"column {j}" for j in range(values.shape[1])]
    )
    where = [f"{names[j]} ({int(count)})" for j, count in enumerate(bad.sum(axis=0)) if count]
    first, kind = message.split("\n")[0], "missing or infinite" if "NaN" in message else "infinite"
    return (
        f"{first} {int(bad.sum())} {kind} values in {int(bad.any(axis=1).sum())} rows, by column: "
        f"{_shorten(where)}. Drop those rows or fill them, for instance with sklearn.impute.SimpleImputer."
    )


def check_square(S: NDArray[np.floating], name: str, *, symmetric: bool = True) -> None:
    """A matrix of pairs must be square, and symmetric up to rounding."""
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise InputError(f"{name} must be a square matrix of pairs; got shape {S.shape}.")
    if not symmetric:
        return
    scale = float(np.abs(S).max(initial=0.0))
    gap = float(np.abs(S - S.T).max(initial=0.0))
    if gap > 1e-6 * max(scale, np.finfo(np.float64).tiny):
        raise InputError(
            f"{name} must be symmetric; entries differ by up to {gap:.3g} from their mirror image. "
            "Pass (S + S.T) / 2 if that is what you mean."
        )


def check_dissimilarity(D: NDArray[np.floating]) -> None:
    """Square, symmetric, non-negative, with a zero diagonal: otherwise it is probably a similarity."""
    check_square(D, "the dissimilarity matrix")
    scale = max(float(np.abs(D).max(initial=0.0)), np.finfo(np.float64).tiny)
    if float(np.abs(np.diag(D)).max(initial=0.0)) > 1e-6 * scale:
        raise InputError(
            "data='dissimilarity' needs a zero diagonal (each row is at distance 0 from itself); the largest diagonal "
            f"entry is {float(np.abs(np.diag(D)).max()):.3g}. If these are similarities, set data='similarity'."
        )
    if float(D.min(initial=0.0)) < -1e-9 * scale:
        raise InputError(f"dissimilarities must not be negative; the smallest is {float(D.min()):.3g}.")


def check_similarity(S: NDArray[np.floating]) -> None:
    """Square, symmetric, and not a distance matrix in disguise (zero diagonal, positive elsewhere)."""
    check_square(S, "the similarity matrix")
    if S.shape[0] > 1 and not np.diag(S).any() and float(S.min()) >= 0 and S.any():
        raise InputError(
            "data='similarity' was announced, but the diagonal is zero and all else is not negative: this looks like a "
            "distance matrix. Set data='dissimilarity'."
        )


def _shorten(items: list[str], most: int = 8) -> str:
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")
