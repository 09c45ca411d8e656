"""A map in one file: arrays and a JSON header, no pickle. Loading rebuilds the metric from its support."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from prismap._util.blocks import require_memory
from prismap.bundle import read_bundle, write_bundle
from prismap.bundle._json import reason_of
from prismap.exceptions import FileFormatError, InputError
from prismap.map._fitted import DENSE_ROWS, FittedMap
from prismap.map._held import Version
from prismap.map._methods import OwnPlacement, make_mapping
from prismap.map._params_json import from_spec, objects_spec, to_spec
from prismap.map._recipe import Given, Recipe
from prismap.map._stored import check_stored, has_kernels, load_bytes, sparse_shape
from prismap.map._time_budget import time_asked
from prismap.metrics import FisherMetric, fit_metric
from prismap.metrics._base import PrecomputedMetric
from prismap.metrics._geometry import data_metric
from prismap.metrics._objects import ObjectRows
from prismap.metrics._shift import LevelShift
from prismap.quality import MapReport
from prismap.tables import TableEncoding
from prismap.target import Dependence, Levels, Target
from prismap.target._stored import target_in, units_header, units_in

KIND = "prismap.PrisMap"


@dataclass(frozen=True)
class StoredMap:
    """What a file holds: the map, the parameters that it was made with, its report if there is one, and extras."""

    fitted: FittedMap
    params: dict[str, Any]
    report: MapReport | None
    extra: dict[str, Any]


def save_map(fitted: FittedMap, path: Any, report: MapReport | None, extra_header: dict[str, Any]) -> None:
    """Write a fitted map: its fitted rows, positions, metric and mapping, and the report if there is one."""
    params = {name: to_spec(value, name) for name, value in fitted.recipe.params.items()}
    given, target = fitted.given, fitted.target
    if isinstance(fitted.mapping, OwnPlacement):
        raise InputError("mapping='own' cannot be saved: a file cannot hold an embedding; use mapping='fisher'.")
    arrays = {
        "positions": fitted.positions, "nearest": fitted.nearest, "fit_rows": given.fitted,
        **pack_rows(fitted.given_rows),
        **{f"mapping/{name}": value for name, value in fitted.mapping.state().items()},
        **{f"metric/{name}": value for name, value in fitted.metric.state().items()}, **target.arrays,
        **pack_units(given), **pack_levels(fitted), **pack_versions(fitted.versions),
    }  # fmt: skip
    if fitted.is_large:
        arrays["anchors"] = fitted.anchors
    if given.feature_names is not None:
        arrays["feature_names"] = np.array([str(name) for name in given.feature_names])
    table = {} if given.encoding is None else {"table": given.encoding.to_dict()}
    header = {
        "kind": KIND, "params": params, "target_kind": target.kind,
        "target_names": target.names, "seed": fitted.seed,
        "n_features": given.n_features, "n_given": len(given), "times": fitted.times,
        "story": {name: to_plain(value) for name, value in fitted.story.items()}, "extra": {**extra_header, **table},
        "report": None if report is None else report.to_dict(), "supervision": fitted.supervision,
        "supervision_curve": fitted.supervision_curve, "units": units_header(given.dependence.units),
        "levels": None if given.levels is None else {"name": given.levels.name, "names": given.levels.names},
        "versions": [version.label for version in fitted.versions],
    }  # fmt: skip
    write_bundle(path, arrays, header)


def to_plain(value: Any) -> Any:
    """A value of a story for JSON: numbers of numpy as Python's own, objects in words."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


def read_map(path: Any, validate: Any, compare: Any = None) -> StoredMap:
    """Read a file of `save_map`.

    validate : the estimator's class, whose rules the parameters must keep. compare : the function that compares the
    objects of such a map.
    """
    bundle = read_bundle(path)
    header, arrays = bundle.header, bundle.arrays
    if header.get("kind") != KIND:
        raise FileFormatError(f"{path} holds no map but {header.get('kind')!r:.60}.")
    with _refusing(path):
        check_stored(header, arrays)
        needed = load_bytes(header, arrays)
    require_memory(needed, f"The map of {len(arrays['positions'])} rows in {path}", "Load it on a larger machine.")
    check_compare(path, header, compare)
    with _refusing(path), np.errstate(all="ignore"):
        params = {name: from_spec(value, name, compare) for name, value in header["params"].items()}
        validate(**params)._validate_params()
        time_asked(params["fit_rows"])  # refuses text that is no time
        fitted = _restore(header, arrays, params)
        _check_placing(fitted)
        report = MapReport.from_dict(header["report"]) if header["report"] else None
    return StoredMap(fitted, params, report, header["extra"])


def check_compare(path: Any, header: dict[str, Any], compare: Any) -> None:
    """The user must give a function of the user's again, and no comparison in other cases."""
    objects = objects_spec(header["params"])
    name = None if objects is None else objects.get("function")
    if name is not None and compare is None:
        raise InputError(
            f"the objects of {path} were compared by the function {name!r}, which a file cannot hold: "
            "load it with PrisMap.load(path, compare=...)."
        )
    if name is None and compare is not None:
        what = "knows its comparison by name" if objects else "holds no objects"
        raise InputError(f"{path} {what}: leave compare out.")


@contextmanager
def _refusing(path: Any) -> Iterator[None]:
    """Any error that values of a damaged file cause elsewhere in the library becomes one that names the file."""
    try:
        yield
    except MemoryError as error:
        raise InputError(f"{path} holds a map that needs more memory than there is left.") from error
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} is not a complete map: {reason_of(error)}.") from error


def _check_placing(fitted: FittedMap) -> None:
    """A row between two fitted ones must get a position, or the values of the file are not those of a map."""
    rows, positions = fitted.rows, fitted.positions
    if isinstance(rows, ObjectRows):
        if len(rows) != len(positions):
            raise ValueError(f"{len(rows)} objects do not go with {len(positions)} positions")
        # One comparison of long objects may take hours, so only values that are in the file are used. A large map has
        # none there, and similarities of an object to itself are evaluated.
        if fitted.is_large or fitted.data.how.kind == "similarity":
            return
        probe = rows[:1]
    else:
        n_columns = len(positions) if fitted.data.is_matrix else fitted.given.n_features
        if rows.shape != (len(positions), n_columns):
            raise ValueError(f"{rows.shape[0]} x {rows.shape[1]} rows do not go with {len(positions)} positions")
        probe = (rows[:1] + rows[1:2]) * 0.5
    Y, distance = fitted.place(probe)
    if not (np.isfinite(Y).all() and np.isfinite(distance).all() and np.isfinite(positions).all()):
        raise ValueError("its positions are not finite")


def _restore(header: dict[str, Any], arrays: dict[str, np.ndarray], params: dict[str, Any]) -> FittedMap:
    recipe = Recipe(**{name: value for name, value in params.items() if name != "random_state"}, seed=header["seed"])
    # Only the fitted rows are in the file: they are now all the rows there are.
    rows, target, table = unpack_rows(arrays, recipe.data), target_in(header, arrays), header["extra"].get("table")
    units = units_in(header, arrays)
    target = target if units is None else target.with_units(units)
    levels, target, shift = unpack_levels(header, arrays, target)
    given = Given(
        rows, target, np.arange(rows.shape[0]), arrays["fit_rows"], n_features=header["n_features"],
        feature_names=arrays["feature_names"].astype(object) if "feature_names" in arrays else None,
        encoding=None if table is None else TableEncoding.from_dict(table), dependence=Dependence(units),
        levels=levels,
    )  # fmt: skip
    curve = header["supervision_curve"]
    rows = rows if shift is None else shift.apply(rows, target.levels)
    data = data_metric(recipe.data).over(rows)
    unfitted = recipe.metric_for(target, given.feature_names, header["supervision"])
    metric = _restore_metric(unfitted, data, rows, target, part_of(arrays, "metric/"))
    positions, state = arrays["positions"], part_of(arrays, "mapping/")
    large = len(positions) > DENSE_ROWS
    anchors = arrays["anchors"] if large else np.arange(len(positions))
    named = recipe.mapping
    if isinstance(named, str) and (named == "auto" or (large and named == "vote")):
        named = "fisher" if has_kernels(arrays) else "vote"
    settings: dict[str, Any] = {"perplexity": recipe.perplexity, "seed": recipe.seed, "large": large}
    mapping = make_mapping(named, None, method=recipe.method, **settings)
    placed_by_data = isinstance(mapping.metric, str) and mapping.metric == "data"

    def distances() -> np.ndarray:
        D = np.asarray((data if placed_by_data else metric).pairwise(), dtype=np.float64)
        mapping.set_params(metric=PrecomputedMetric.of(D))
        return D

    return FittedMap(
        recipe=recipe, given=given, rows=rows, data=data, metric=metric, positions=positions, anchors=anchors,
        placed_by_data=placed_by_data, mapping=mapping.restore(distances, positions[anchors], state),
        apart=arrays["nearest"], supervision=header["supervision"],
        supervision_curve=None if curve is None else tuple(curve), story=header["story"], times=header["times"],
        shift=shift, versions=unpack_versions(header, arrays),
    )  # fmt: skip


def _restore_metric(metric: Any, data: Any, rows: Any, target: Target, state: dict[str, np.ndarray]) -> Any:
    if metric is None:
        return data
    if isinstance(metric, FisherMetric):
        return metric.restore_on(data, target, state)
    y = target.values if target.exists else None
    return fit_metric(metric, rows, y) if isinstance(metric, str) else metric.restore(rows, y, state)


def part_of(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays whose name starts so, without that start."""
    return {name[len(prefix) :]: value for name, value in arrays.items() if name.startswith(prefix)}


def pack_levels(fitted: FittedMap) -> dict[str, np.ndarray]:
    """The levels of the fitted rows in a column of no interest, and what they shift."""
    if fitted.given.levels is None:
        return {}
    shift = fitted.shift
    parts = {} if shift is None else {"levels/offsets": shift.offsets, "levels/scales": shift.scales}
    return {"levels/codes": fitted.target.levels, **parts}


def unpack_levels(
    header: dict[str, Any], arrays: dict[str, np.ndarray], target: Target
) -> tuple[Levels | None, Target, LevelShift | None]:
    """The inverse of `pack_levels`: the levels, the target of rows in them, and what they shift."""
    about = header.get("levels")
    if about is None:
        return None, target, None
    levels = Levels(tuple(about["names"]), about["name"])
    target = target.inside(arrays["levels/codes"], len(levels))
    if "levels/offsets" not in arrays:
        return levels, target, None
    return levels, target, LevelShift(arrays["levels/offsets"], arrays["levels/scales"])


def pack_versions(versions: tuple[Version, ...]) -> dict[str, np.ndarray]:
    """The rows on earlier maps, (maps, rows, 2), and the rows that only those have: the number of the map, x and y."""
    if not versions:
        return {}
    gone = [np.column_stack([np.full(len(one.gone), float(i)), one.gone]) for i, one in enumerate(versions)]
    return {"versions": np.stack([one.positions for one in versions]), "gone": np.concatenate(gone)}


def unpack_versions(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[Version, ...]:
    """The inverse of `pack_versions`, of arrays that `check_stored` has seen."""
    return tuple(
        Version(str(label), arrays["versions"][i], arrays["gone"][arrays["gone"][:, 0] == i][:, 1:])
        for i, label in enumerate(header.get("versions", ()))
    )


def pack_units(given: Given) -> dict[str, np.ndarray]:
    """The units of the fitted rows, and the groups that were given, empty where there is none."""
    units = given.dependence.units
    if units is None:
        return {}
    arrays = {"units": units.codes[given.fitted]}
    if units.labels is not None:
        arrays["groups"] = np.array(["" if one is None else one for one in units.labels[given.fitted]], dtype=str)
    return arrays


def pack_rows(rows: Any) -> dict[str, np.ndarray]:
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


def unpack_rows(arrays: dict[str, np.ndarray], data: Any) -> Any:
    """The inverse of `pack_rows`, of arrays that `check_stored` has seen."""
    if "objects" in arrays:
        return ObjectRows.unpack(data_metric(data).how, arrays)
    if "rows" in arrays:
        return arrays["rows"]
    parts = (arrays["rows/data"], arrays["rows/indices"], arrays["rows/indptr"])
    return sp.csr_array(parts, shape=sparse_shape(arrays))
