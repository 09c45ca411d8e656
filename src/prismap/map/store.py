"""A map in one file: arrays and a JSON header, no pickle. Loading rebuilds the metric from its support."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp

from prismap._blocks import require_memory
from prismap.bundle import read_bundle, write_bundle
from prismap.exceptions import FileFormatError, InputError
from prismap.map.build import Built, distances_to_embed, distances_to_map, fit_own_metric
from prismap.map.mapping import PLACEMENTS, FittedMap, Kernels, placement
from prismap.map.stored import check_stored, follows_from_rows, load_bytes, sparse_shape
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
    with _refusing(path):
        check_stored(header, arrays)
        needed = load_bytes(header, arrays)
    require_memory(needed, f"The map of {len(arrays['positions'])} rows in {path}", "Load it on a larger machine.")
    with _refusing(path), np.errstate(all="ignore"):
        model = _restore(cls, header, arrays)
        _check_placing(model)
    return model


@contextmanager
def _refusing(path):
    """What the rest of the library does with values that no map has, as one refusal: it may raise nearly everything."""
    try:
        yield
    except MemoryError as error:
        raise InputError(f"{path} holds a map that needs more memory than there is left.") from error
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} is not a complete map: {error}.") from error


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


def _restore_mapping(recipe, metric, own, arrays):
    """The kernels of the file; or the named map, which follows from the fitted rows and their positions."""
    if not follows_from_rows(recipe.mapping, arrays):
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
    """The inverse of `pack_rows`, of arrays that `check_stored` has seen."""
    if "rows" in arrays:
        return arrays["rows"]
    parts = (arrays["rows/data"], arrays["rows/indices"], arrays["rows/indptr"])
    return sp.csr_array(parts, shape=sparse_shape(arrays))


def plain(values):
    """Numbers of numpy as Python's own, for JSON."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
