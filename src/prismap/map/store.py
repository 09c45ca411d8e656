"""A map in one file: arrays and a JSON header, no pickle. Loading rebuilds the metric from its support."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from prismap.bundle import read_bundle, write_bundle
from prismap.exceptions import FileFormatError, InputError
from prismap.map.build import Built, distances_to_embed, distances_to_map, fit_own_metric
from prismap.map.mapping import PLACEMENTS, FittedMap, Kernels, placement
from prismap.metrics import FisherMetric
from prismap.quality import MapReport

KIND = "prismap.PrisMap"


def save_map(model, path, extra_header):
    """Write a fitted `PrisMap`: its fitted rows, positions, metric and mapping, and the report if there is one."""
    params = model.get_params(deep=False)
    for name in ("method", "posterior", "metric", "mapping"):
        if not isinstance(params[name], str):
            raise InputError(f"{name}={params[name]!r} is an object, which a file cannot hold; use a name.")
    built = model._built
    by_kernels = isinstance(built.mapping, Kernels)
    if not by_kernels and params["mapping"] not in PLACEMENTS:
        raise InputError(f"mapping={params['mapping']!r} is an object, which a file cannot hold; use mapping='fisher'.")
    arrays = {
        "positions": built.positions, "nearest": built.nearest, "fit_rows": model.fit_rows_,
        **({f"mapping/{name}": value for name, value in vars(built.mapping).items()} if by_kernels else {}),
        **pack_rows(model.fitted_rows()),
        **{f"metric/{name}": value for name, value in built.metric.state().items()},
    }  # fmt: skip
    target = model.fitted_target()
    if target is not None:
        arrays["target"] = target
    if model.target_ == "class":
        arrays["classes"] = model.classes_
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names"] = np.array([str(name) for name in model.feature_names_in_])
    header = {
        "kind": KIND, "params": plain(params), "target_kind": model.target_, "seed": model.seed_,
        "n_features": model.n_features_in_, "n_given": int(model._rows.shape[0]), "times": built.times,
        "story": plain(built.story), "extra": extra_header,
        "report": model._report.to_dict() if model._report else None,
    }  # fmt: skip
    write_bundle(path, arrays, header)


def load_map(cls, path):
    """Read a file of `save_map`."""
    bundle = read_bundle(path)
    header, arrays = bundle.header, bundle.arrays
    if header.get("kind") != KIND:
        raise FileFormatError(f"{path} holds no map but {header.get('kind')!r}.")
    try:
        _check_arrays(header, arrays)
        with np.errstate(all="ignore"):
            model = _restore(cls, header, arrays)
            _check_placing(model)
    # What the rest of the library does with values that no map has: it may raise nearly everything.
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} is not a complete map: {error}.") from error
    return model


def _check_arrays(header, arrays):
    """Shapes that belong together, numbers where there must be some, and indices of rows that exist."""
    for name, kind in (("params", dict), ("extra", dict), ("times", dict), ("report", (dict, type(None)))):
        if not isinstance(header[name], kind):
            raise ValueError(f"{name} in its header is a {type(header[name]).__name__}")
    for name, array in arrays.items():
        allowed = "US" if name == "feature_names" else "iufbU" if name in ("classes", "target") else "iuf"
        if array.dtype.kind not in allowed or (array.dtype.kind == "f" and name != "target" and np.isnan(array).any()):
            raise ValueError(f"{name} holds {array.dtype} values, or NaN")
    n, n_components = arrays["positions"].shape
    wanted: dict[str, tuple[int, ...]] = {"fit_rows": (n,), "metric/folds": (n,)}
    if not _follows_from_rows(header["params"].get("mapping"), arrays):
        (k,) = arrays["mapping/landmarks"].shape
        wanted |= {"mapping/bandwidth": (k,), "mapping/coefficients": (k, n_components)}
        wanted |= {"mapping/center": (n_components,)}
    for name, shape in wanted.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape} and not {shape}")
    for name in (
        "mapping/landmarks", "metric/support", "metric/machine_landmarks", "metric/path_support", "metric/folds",
    ):  # fmt: skip
        index, least = arrays.get(name, np.zeros(1, dtype=np.intp)), -1 if name == "metric/folds" else 0
        if index.dtype.kind not in "iu" or index.ndim != 1 or index.min() < least or index.max() >= n:
            raise ValueError(f"{name} holds other numbers than those of its {n} rows")


def _check_placing(model):
    """A row between two fitted ones must get a position, or the values of the file are none a map can have."""
    rows = model.fitted_rows()
    n_columns = model.n_features_in_ if model.data == "vectors" else len(model.embedding_)
    if rows.shape != (len(model.embedding_), n_columns):
        raise ValueError(f"{rows.shape[0]} x {rows.shape[1]} rows do not go with {len(model.embedding_)} positions")
    Y, distance = model._built.place((rows[:1] + rows[1:2]) * 0.5)
    if not (np.isfinite(Y).all() and np.isfinite(distance).all() and np.isfinite(model.embedding_).all()):
        raise ValueError("its positions are not finite")


def _restore(cls, header, arrays):
    model = cls(**header["params"])
    model._validate_params()
    if not isinstance(model.posterior, str):
        raise TypeError(f"posterior={model.posterior!r} is no name")
    model.n_features_in_ = header["n_features"]
    if "feature_names" in arrays:
        model.feature_names_in_ = arrays["feature_names"].astype(object)
    model.target_, model.seed_ = header["target_kind"], header["seed"]
    rows, target = unpack_rows(arrays), arrays.get("target")
    model.extra_header_ = header["extra"]
    recipe = model._recipe()
    metric = FisherMetric.restore(
        rows, target, {name[7:]: value for name, value in arrays.items() if name.startswith("metric/")},
        recipe.metric_options(),
    )  # fmt: skip
    own = fit_own_metric(recipe, rows, target)
    mapping = _restore_mapping(recipe, metric, own, arrays)
    model._built = Built(
        recipe, metric, arrays["positions"], mapping, arrays["nearest"], header["story"], header["times"], own
    )
    # Only the fitted rows are in the file: they are now all the rows there are.
    model._rows, model._y, model._n_given = rows, target, header["n_given"]
    model.fit_rows_ = np.arange(rows.shape[0])
    model._entry_columns = arrays["fit_rows"] if model.data != "vectors" else None
    if model.target_ == "class":
        model.classes_ = arrays["classes"]
    model._report = MapReport.from_dict(header["report"]) if header["report"] else None
    model._twins, model._inverse, model._n_features_out = None, None, arrays["positions"].shape[1]
    return model


def _follows_from_rows(mapping, arrays):
    """Whether the file holds no kernels because the map for new rows has none."""
    return mapping in PLACEMENTS and "mapping/landmarks" not in arrays


def _restore_mapping(recipe, metric, own, arrays):
    """The kernels of the file; or the named map, which follows from the fitted rows and their positions."""
    if not _follows_from_rows(recipe.mapping, arrays):
        return Kernels(**{name[8:]: value for name, value in arrays.items() if name.startswith("mapping/")})
    D, rows = distances_to_embed(recipe, metric, own), np.arange(len(arrays["positions"]))
    return FittedMap(placement(recipe).fit(distances_to_map(recipe, metric, own, D, rows), arrays["positions"]))


def pack_rows(rows):
    """Dense rows as they are, sparse ones by their parts."""
    if not sp.issparse(rows):
        return {"rows": rows}
    return {
        "rows/data": rows.data,
        "rows/indices": rows.indices,
        "rows/indptr": rows.indptr,
        "rows/shape": np.array(rows.shape),
    }


def unpack_rows(arrays):
    """The inverse of `pack_rows`."""
    if "rows" in arrays:
        return arrays["rows"]
    parts = (arrays["rows/data"], arrays["rows/indices"], arrays["rows/indptr"])
    return sp.csr_array(parts, shape=tuple(int(n) for n in arrays["rows/shape"]))


def plain(values):
    """Numbers of numpy as Python's own, for JSON."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
