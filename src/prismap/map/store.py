"""A map in one file: arrays and a JSON header, no pickle. Loading rebuilds the metric from its support."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp

from prismap._blocks import require_memory
from prismap.bundle import read_bundle, write_bundle
from prismap.exceptions import FileFormatError, InputError
from prismap.map.make import OwnPlacement, make_mapping
from prismap.map.pace import time_asked
from prismap.map.parts import DENSE_ROWS, MapParts
from prismap.map.specs import from_spec, objects_spec, to_spec
from prismap.map.stored import check_stored, has_kernels, load_bytes, sparse_shape
from prismap.metrics import FisherMetric, fit_metric
from prismap.metrics.base import PrecomputedMetric
from prismap.metrics.geometry import data_metric
from prismap.metrics.objects import ObjectRows
from prismap.metrics.several import is_several
from prismap.quality import MapReport
from prismap.tables import TableEncoding

KIND = "prismap.PrisMap"


def save_map(model, path, extra_header):
    """Write a fitted `PrisMap`: its fitted rows, positions, metric and mapping, and the report if there is one."""
    params = {name: to_spec(value, name) for name, value in model.get_params(deep=False).items()}
    parts = model.parts_
    if isinstance(parts.mapping, OwnPlacement):
        raise InputError("mapping='own' cannot be saved: a file cannot hold an embedding; use mapping='fisher'.")
    arrays = {
        "positions": parts.positions, "nearest": parts.nearest, "fit_rows": model.fit_rows_, **pack_rows(parts.rows),
        **{f"mapping/{name}": value for name, value in parts.mapping.state().items()},
        **{f"metric/{name}": value for name, value in parts.metric.state().items()},
    }  # fmt: skip
    if parts.is_large:
        arrays["anchors"] = parts.anchors
    target = model.fitted_target()
    if target is not None:
        arrays["target"] = target
    if model.target_ == "class":
        arrays["classes"] = model.classes_
    if is_several(model.target_):
        arrays |= {f"classes/{t}": one for t, one in enumerate(model.classes_) if one is not None}
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names"] = np.array([str(name) for name in model.feature_names_in_])
    header = {
        "kind": KIND, "params": params, "target_kind": model.target_, "target_names": model.target_names_,
        "seed": model.seed_,
        "n_features": model.n_features_in_, "n_given": int(model.rows_.shape[0]), "times": parts.times,
        "story": {name: to_plain(value) for name, value in parts.story.items()},
        "extra": header_of_table(model, extra_header),
        "report": model.report_dict(),
        "supervision": model.supervision_, "supervision_curve": model.supervision_curve_,
    }  # fmt: skip
    write_bundle(path, arrays, header)


def header_of_table(model, extra_header):
    """What the header keeps beside the map: what the caller adds, and how tables are read."""
    return extra_header if model.encoding_ is None else {**extra_header, "table": model.encoding_.to_dict()}


def to_plain(value):
    """A value of a story for JSON: numbers of numpy as Python's own, objects in words."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


def load_map(cls, path, compare=None):
    """Read a file of `save_map`; `compare` is the function that compares the objects of such a map."""
    bundle = read_bundle(path)
    header, arrays = bundle.header, bundle.arrays
    if header.get("kind") != KIND:
        raise FileFormatError(f"{path} holds no map but {header.get('kind')!r}.")
    with _refusing(path):
        check_stored(header, arrays)
        needed = load_bytes(header, arrays)
    require_memory(needed, f"The map of {len(arrays['positions'])} rows in {path}", "Load it on a larger machine.")
    check_compare(path, header, compare)
    with _refusing(path), np.errstate(all="ignore"):
        model = _restore(cls, header, arrays, compare)
        _check_placing(model)
    return model


def check_compare(path, header, compare):
    """A function of the user's is asked for again, and only then."""
    found = objects_spec(header["params"])
    name = None if found is None else found.get("function")
    if name is not None and compare is None:
        raise InputError(
            f"the objects of {path} were compared by the function {name!r}, which a file cannot hold: "
            "load it with PrisMap.load(path, compare=...)."
        )
    if name is None and compare is not None:
        what = "knows its comparison by name" if found else "holds no objects"
        raise InputError(f"{path} {what}: leave compare out.")


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
    if isinstance(rows, ObjectRows):
        if len(rows) != len(model.embedding_):
            raise ValueError(f"{len(rows)} objects do not go with {len(model.embedding_)} positions")
        probe = ObjectRows(rows.objects[:1])  # as if it were new
    else:
        probe = between_rows(model, rows)
    Y, distance = model.parts_.place(probe)
    if not (np.isfinite(Y).all() and np.isfinite(distance).all() and np.isfinite(model.embedding_).all()):
        raise ValueError("its positions are not finite")


def between_rows(model, rows):
    """A row between two fitted ones."""
    n_columns = len(model.embedding_) if model.parts_.data.is_matrix else model.n_features_in_
    if rows.shape != (len(model.embedding_), n_columns):
        raise ValueError(f"{rows.shape[0]} x {rows.shape[1]} rows do not go with {len(model.embedding_)} positions")
    return (rows[:1] + rows[1:2]) * 0.5


def _restore(cls, header, arrays, compare):
    model = cls(**{name: from_spec(value, name, compare) for name, value in header["params"].items()})
    model._validate_params()
    time_asked(model.fit_rows)  # refuses text that is no time
    model.n_features_in_ = header["n_features"]
    if "feature_names" in arrays:
        model.feature_names_in_ = arrays["feature_names"].astype(object)
    kind, model.seed_ = header["target_kind"], header["seed"]
    model.target_, model.target_names_ = tuple(kind) if isinstance(kind, list) else kind, ()
    if model.target_ == "class":
        model.classes_ = arrays["classes"]
    if is_several(model.target_):
        model.classes_ = tuple(arrays.get(f"classes/{t}") for t in range(len(kind)))
        model.target_names_ = tuple(header["target_names"])
    # Only the fitted rows are in the file: they are now all the rows there are.
    rows, target = unpack_rows(arrays, model.data), arrays.get("target")
    model.rows_, model.y_, model.fit_rows_ = rows, target, np.arange(rows.shape[0])
    model.entry_columns_ = arrays["fit_rows"]
    model.given_target_ = target
    if not is_several(model.target_):  # `score` reads several targets from their codes
        model.given_target_ = named_target(target, model.shown_classes())
    model.supervision_, model.supervision_curve_ = header["supervision"], header["supervision_curve"]
    model.parts_ = _restore_parts(model, header, arrays, rows, target)
    model.extra_header_ = header["extra"]
    table = header["extra"].get("table")
    model.notes_ = ()
    model.remember_table(None if table is None else TableEncoding.from_dict(table))
    model.remember_report(MapReport.from_dict(header["report"]) if header["report"] else None)
    return model


def named_target(target, classes):
    """The target as a user gives it: classes by their names, None where a sample has none."""
    if target is None or classes is None:
        return target
    return np.where(target < 0, None, np.asarray(classes, dtype=object)[target])


def _restore_parts(model, header, arrays, rows, target):
    data = data_metric(model.data).over(rows)
    metric = _restore_metric(model.map_metric(), data, rows, target, part_of(arrays, "metric/"))
    positions, state = arrays["positions"], part_of(arrays, "mapping/")
    large = len(positions) > DENSE_ROWS
    anchors = arrays["anchors"] if large else np.arange(len(positions))
    settings = {"perplexity": model.perplexity, "seed": model.seed_, "large": large}
    named = model.mapping
    if named == "auto" or (large and named == "vote"):
        named = "fisher" if has_kernels(arrays) else "vote"
    mapping = make_mapping(named, None, method=model.method, **settings)
    placed_by_data = mapping.metric == "data"

    def distances():
        D = np.asarray((data if placed_by_data else metric).pairwise(), dtype=np.float64)
        mapping.set_params(metric=PrecomputedMetric.of(D))
        return D

    return MapParts(
        rows=rows, data=data, metric=metric, positions=positions, anchors=anchors, placed_by_data=placed_by_data,
        mapping=mapping.restore(distances, positions[anchors], state), nearest=arrays["nearest"], seed=model.seed_,
        story=header["story"], times=header["times"],
    )  # fmt: skip


def _restore_metric(metric, data, rows, target, state):
    if metric is None:
        return data
    if isinstance(metric, FisherMetric):
        return metric.restore_on(data, target, state)
    return fit_metric(metric, rows, target) if isinstance(metric, str) else metric.restore(rows, target, state)


def part_of(arrays, prefix):
    """The arrays whose name starts so, without that start."""
    return {name[len(prefix) :]: value for name, value in arrays.items() if name.startswith(prefix)}


def pack_rows(rows):
    """Dense rows as they are, sparse ones by their parts, objects as text."""
    if isinstance(rows, ObjectRows):
        return rows.pack()
    if not sp.issparse(rows):
        return {"rows": rows}
    return {
        "rows/data": rows.data,
        "rows/indices": rows.indices,
        "rows/indptr": rows.indptr,
        "rows/shape": np.array(rows.shape),
    }


def unpack_rows(arrays, data):
    """The inverse of `pack_rows`, of arrays that `check_stored` has seen."""
    if "objects" in arrays:
        return ObjectRows.unpack(data_metric(data).how, arrays)
    if "rows" in arrays:
        return arrays["rows"]
    parts = (arrays["rows/data"], arrays["rows/indices"], arrays["rows/indptr"])
    return sp.csr_array(parts, shape=sparse_shape(arrays))
