"""The arrays of a stored map, checked against each other before anything is made of them.

A file may come from anywhere, and some of what it holds goes to compiled code that trusts its indices. Every check here
raises ValueError (or another error of damaged values), which `load_map` turns into one refusal.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from prismap.bundle import check_sparse
from prismap.map._fitted import DENSE_ROWS
from prismap.map._params_json import MOST_WORK, objects_spec
from prismap.metrics import _objects
from prismap.target._stored import check_target, check_units

#: Arrays of row numbers, and the least number that may stand in them.
INDICES = {
    "fit_rows": 0, "anchors": 0, "mapping/landmarks": 0, "mapping/centers": 0, "metric/support": 0,
    "metric/machine_landmarks": 0, "metric/path_support": 0, "metric/process_pivots": 0, "metric/folds": -1,
}  # fmt: skip
#: Other arrays of whole numbers.
WHOLE = (
    "units", "metric/segments", "metric/trees_feature", "metric/trees_children", "metric/trees_roots",
    "metric/trees_classes", "metric/trees_starts", "metric/process_sizes", "levels/codes",
)  # fmt: skip
#: Arrays of which values may be missing.
MAY_MISS = ("target", "rows", "versions")
#: The parts of sparse rows, which `check_sparse` knows.
SPARSE = ("rows/data", "rows/indices", "rows/indptr", "rows/shape")
SCALARS = (
    "mapping/scale",
    "mapping/spread",
    "metric/bandwidth",
    "metric/discriminant_temperature",
    "metric/local_perplexity",
    "metric/machine_gamma",
    "metric/machine_temperature",
    "metric/trees_temperature",
)
#: The name of an array of one of several posteriors begins so.
PART = re.compile(r"^metric/part\d+_")
#: Bytes of Python objects that a byte of their JSON can become.
OBJECT_BYTES = 32.0
HEADER_KINDS: dict[str, Any] = {
    "params": dict, "extra": dict, "times": dict, "story": dict, "n_features": int, "n_given": int,
    "report": (dict, type(None)),
}  # fmt: skip


def check_stored(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Refuse a file whose header and arrays are not those of one map."""
    for name, kind in HEADER_KINDS.items():
        if not isinstance(header[name], kind):
            raise ValueError(f"{name} in its header is a {type(header[name]).__name__}")
    for name, array in arrays.items():
        _check_values(name, array)
    n, n_components = arrays["positions"].shape
    if n < 2 or n_components < 1:
        raise ValueError(f"{n} positions of {n_components} coordinates make no map")
    _check_rows(header, arrays, n)
    check_target(header, arrays, n)
    _check_levels(header, arrays, n)
    _check_versions(header.get("versions", []), arrays, n)
    check_units(header.get("units"), arrays, n)
    for part in posteriors_of(header, arrays):
        _check_shapes(part, n, n_components)
        _check_indices(header, part, n)


def posteriors_of(header: dict[str, Any], arrays: dict[str, Any]) -> list[dict[str, Any]]:
    """All arrays, with those of a single posterior: once, or for each one of several whose names have a number."""
    kinds, weights = header["target_kind"], arrays.get("metric/blend_weights")
    n_parts = len(kinds) if isinstance(kinds, list) else 0 if weights is None else weights.size
    if not n_parts:
        return [arrays]
    shared = {name: array for name, array in arrays.items() if not PART.match(name)}
    own = [
        {n.replace(f"/part{t}_", "/", 1): a for n, a in arrays.items() if n.startswith(f"metric/part{t}_")}
        for t in range(n_parts)
    ]
    return [{**shared, **part} for part in own]


def has_kernels(arrays: dict[str, Any]) -> bool:
    """Whether the file holds a kernel map; any other mapping follows from the rows and their positions."""
    return "mapping/landmarks" in arrays


def is_matrix(header: dict[str, Any]) -> bool:
    """Whether the rows of the file are entries of a matrix, by the name of the data or of its metric."""
    data = header["params"]["data"]
    if not isinstance(data, (str, dict)):
        raise ValueError("data in its header is neither a name nor a metric")
    if objects_spec(header["params"]) is not None:
        return False
    return (data if isinstance(data, str) else data["class"]) not in (
        "vectors", "cosine", "VectorMetric", "CosineMetric"
    )  # fmt: skip


def load_bytes(header: dict[str, Any], arrays: dict[str, Any]) -> float:
    """Memory that loading a map and placing a few rows takes at its peak, from the shapes of its arrays alone.

    Values may be stored in fewer bytes than they are worked with, so values are counted and not bytes. The factors are
    bounds of what was measured, for every posterior, mapping and kind of data (tests/hardening/test_forging.py).
    """
    n = len(arrays["positions"])
    local, share = "metric/local_probabilities" in arrays, header["supervision"]
    support = len(arrays.get("metric/path_support" if local else "metric/support", ()))
    if local and n > DENSE_ROWS and isinstance(share, float) and share < 1:
        support = 0  # new rows are searched for, and no profile of the fitted ones is made (`FisherMetric.placing`)
    values = sum(array.size for array in arrays.values())
    columns = int(header["n_features"])
    text = sum(array.nbytes for array in arrays.values() if array.dtype.kind == "U")
    # A large map holds its rows on two grids, to be searched; blocks of distances do not grow with it.
    copies = 4 if n <= DENSE_ROWS else 12
    needed: float = 8.0 * (copies * values + 8 * columns) + 2 * text + 12_000.0 * min(n, DENSE_ROWS)
    n_targets = len(arrays.get("metric/process", ()))
    needed += 8.0 * support * (6 * n + 6 * support * n_targets)
    if not has_kernels(arrays) or "rows" not in arrays:
        needed += 64.0 * min(n, DENSE_ROWS) ** 2
    if is_matrix(header):
        needed += 40.0 * n**2
    if "objects" in arrays:
        needed += OBJECT_BYTES * arrays["objects"].size + 60.0 * min(n, _objects.MOST_IN_MATRIX) ** 2
    return needed


def _check_values(name: str, array: Any) -> None:
    """Numbers where there must be some, all of them finite but those of a target or of rows, which may be missing."""
    if name in SPARSE:
        return
    if name == "objects":
        if array.dtype != np.uint8 or array.ndim != 1:
            raise ValueError("its objects are no text")
        return
    name = PART.sub("metric/", name)
    if name in ("feature_names", "groups"):
        allowed = "U"
    elif name == "target" or name.split("/")[0] == "classes":
        allowed = "iufbU"
    else:
        allowed = "iu" if name in INDICES or name in WHOLE else "f"
    kind = array.dtype.kind
    if kind not in allowed or (
        kind in "iuf" and name.split("/")[0] not in ("classes", "target") and array.dtype.itemsize < 4
    ):
        raise ValueError(f"{name} holds {array.dtype} values")
    if kind == "f" and not (np.isfinite(array) | (np.isnan(array) & (name in MAY_MISS))).all():
        raise ValueError(f"{name} holds values that are not finite")


def _check_versions(labels: Any, arrays: dict[str, Any], n: int) -> None:
    """Positions of the rows on as many earlier maps as there are names, and of rows that only those have."""
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise ValueError("the names of its earlier maps are no texts")
    if ("versions" in arrays) != bool(labels) or ("gone" in arrays) != bool(labels):
        raise ValueError("positions on earlier maps do not go with their names")
    dimensions = arrays["positions"].shape[1]
    if labels and (
        arrays["versions"].shape != (len(labels), n, dimensions) or arrays["gone"].shape[1:] != (1 + dimensions,)
    ):
        raise ValueError(f"positions on {len(labels)} earlier maps do not go with {n} rows")


def _check_rows(header: dict[str, Any], arrays: dict[str, Any], n: int) -> None:
    """As many rows as positions, of as many columns as the header says; sparse ones in order."""
    if objects_spec(header["params"]) is not None:
        # Without them all pairs would be compared, which may take hours.
        if n <= _objects.MOST_IN_MATRIX and "values" not in arrays:
            raise ValueError("it has no values of its objects")
        if "values" in arrays and arrays["values"].shape != (n * (n + 1) // 2,):
            raise ValueError(f"{arrays['values'].size} values do not go with {n} objects")
        if "objects" not in arrays or "feature_names" in arrays:
            raise ValueError("it has no objects")
        return
    if "rows" in arrays:
        shape = arrays["rows"].shape
    else:
        shape = sparse_shape(arrays)
        check_sparse(arrays["rows/data"], arrays["rows/indices"], arrays["rows/indptr"], shape)
    wanted = (n, n if is_matrix(header) else header["n_features"])
    if shape != wanted or wanted[1] < 1:
        raise ValueError(f"rows of shape {shape} do not go with {n} positions and {header['n_features']} features")


def sparse_shape(arrays: dict[str, Any]) -> tuple[int, int]:
    """Rows and columns of sparse rows."""
    rows, columns = arrays["rows/shape"].tolist()
    if type(rows) is not int or type(columns) is not int:
        raise ValueError("the shape of the sparse rows is not two whole numbers")
    return rows, columns


def _check_shapes(arrays: dict[str, Any], n: int, n_components: int) -> None:
    """Shapes that belong together."""
    wanted: dict[str, tuple[int, ...]] = {"fit_rows": (n,), "metric/folds": (n,), "metric/segments": (2,)}
    wanted = {name: shape for name, shape in wanted.items() if name in arrays or name == "fit_rows"}
    wanted |= {name: () for name in SCALARS if name in arrays}
    n_anchors = n
    if n > DENSE_ROWS:
        if not {"mapping/landmarks", "mapping/scale"} & set(arrays):
            raise ValueError("it has no mapping")
        n_anchors = len(arrays["anchors"])
    if has_kernels(arrays):
        (k,) = arrays["mapping/landmarks"].shape
        wanted |= {"mapping/bandwidth": (k,), "mapping/coefficients": (k, n_components)}
        wanted |= {"mapping/center": (n_components,), "mapping/smoothness": (2,)}
    if "feature_names" in arrays:
        wanted["feature_names"] = (arrays["rows"].shape[1] if "rows" in arrays else sparse_shape(arrays)[1],)
    if "metric/probabilities" in arrays:
        n_classes = arrays["metric/probabilities"].shape[-1]
        wanted["metric/probabilities"] = (n, n_classes)
        if "metric/trees_starts" in arrays:
            wanted["metric/trees_starts"] = (len(arrays["metric/trees_children"]) + 1,)
            wanted["metric/trees_classes"] = arrays["metric/trees_shares"].shape
        elif "metric/discriminant_slopes" in arrays:
            wanted["metric/discriminant_slopes"] = (len(arrays["metric/discriminant_slopes"]), n_classes)
            wanted["metric/discriminant_offsets"] = (n_classes,)
        else:
            wanted["metric/machine_mean"] = (n_classes,)
            wanted["metric/machine_coefficients"] = (len(arrays["metric/machine_landmarks"]), n_classes)
    if "metric/local_probabilities" in arrays:
        wanted["metric/local_probabilities"] = (n, arrays["metric/local_probabilities"].shape[-1])
    for name, shape in wanted.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape} and not {shape}")
    if "metric/segments" in arrays:
        number, extrapolated = arrays["metric/segments"].tolist()
        if not 1 <= number <= MOST_WORK["n_segments"] or extrapolated not in (0, 1):
            raise ValueError(f"metric/segments says {number} sub-segments, which no map has")
    if arrays["nearest"].shape != (n_anchors,):
        raise ValueError(f"nearest has shape {arrays['nearest'].shape} and not {(n_anchors,)}")
    if arrays["nearest"].min() < 0:
        raise ValueError("nearest holds distances below zero")


def _check_indices(header: dict[str, Any], arrays: dict[str, Any], n: int) -> None:
    """Numbers of rows that exist; `fit_rows` are distinct rows of those that were given."""
    if header["n_given"] < n:
        raise ValueError(f"{n} rows of {header['n_given']} cannot have been fitted")
    for name, least in INDICES.items():
        if name not in arrays:
            continue
        index, end = arrays[name], header["n_given"] if name == "fit_rows" else n
        if name == "mapping/landmarks" and n > DENSE_ROWS:
            end = len(arrays["anchors"])  # numbered among the anchors
        if index.ndim != 1 or index.min() < least or index.max() >= end:
            raise ValueError(f"{name} holds other numbers than those of its {end} rows")
    # A new row of matrix data is given by its entries against all rows, of which those fitted are taken.
    if is_matrix(header) and arrays["fit_rows"].max() >= header["n_features"]:
        raise ValueError(f"fit_rows names rows beyond its {header['n_features']} columns")
    if len(np.unique(arrays["fit_rows"])) != n:
        raise ValueError("fit_rows names a row twice")


def _check_levels(header: dict[str, Any], arrays: dict[str, Any], n: int) -> None:
    """Levels of a column of no interest: names, a code for each row, and what two or more of them shift."""
    about, own = header.get("levels"), {name for name in arrays if name.startswith("levels/")}
    if about is None:
        if own:
            raise ValueError("its levels have no names")
        return
    name, names = about["name"], about["names"]
    if not isinstance(name, (str, type(None))) or not names or not all(isinstance(one, str) for one in names):
        raise ValueError("its levels have no names")
    codes = arrays["levels/codes"]
    if codes.shape != (n,) or codes.min() < 0 or codes.max() >= len(names):
        raise ValueError(f"its rows are of other levels than the {len(names)} it names")
    if own != {"levels/codes", "levels/offsets", "levels/scales"} and (len(names) > 1 or own != {"levels/codes"}):
        raise ValueError("it does not say what its levels shift")
    wanted = (len(names), header["n_features"])
    if len(names) > 1 and not arrays["levels/offsets"].shape == arrays["levels/scales"].shape == wanted:
        raise ValueError(f"what its levels shift does not go with {wanted[1]} features")
    if len(names) > 1 and arrays["levels/scales"].min() <= 0:
        raise ValueError("a level has a spread of zero")
