"""A target and its units in a file: what the arrays and the header of a map say of them, checked and made again.

`Target.arrays` is what is written. A file may come from anywhere, so that every check raises ValueError.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.target._kinds import ClassTarget, NoTarget, RealTarget, SeveralTarget, Target
from prismap.target._making import KINDS
from prismap.target._units import Units

Arrays = dict[str, NDArray[Any]]


def target_in(header: dict[str, Any], arrays: Arrays) -> Target:
    """The target in a file that `check_target` has seen."""
    kind, values = header["target_kind"], arrays.get("target")
    if values is None:
        return NoTarget.of(len(arrays["positions"]))
    if isinstance(kind, list):
        classes = tuple(arrays.get(f"classes/{t}") for t in range(len(kind)))
        return SeveralTarget(
            values, kinds=tuple(kind), column_names=tuple(header["target_names"]), column_classes=classes
        )
    if "classes" in arrays:
        return ClassTarget(values, names_of_classes=arrays["classes"])
    return RealTarget(values)


def units_header(units: Units | None) -> dict[str, Any] | None:
    """What the header says of units."""
    if units is None:
        return None
    return {"name": units.name, "in_order": units.in_order, "source": units.source, "words": units.words}


def units_in(header: dict[str, Any], arrays: Arrays) -> Units | None:
    """The units in a file that `check_units` has seen."""
    about = header.get("units")
    if about is None:
        return None
    labels = arrays.get("groups")
    return Units(arrays["units"], labels=None if labels is None else labels.astype(object), **about)


def check_target(header: dict[str, Any], arrays: dict[str, Any], n: int) -> None:
    """A target for each row: codes of classes that the file names, or numbers."""
    kind, target = header["target_kind"], arrays.get("target")
    if isinstance(kind, list):
        _check_columns(kind, header["target_names"], target, arrays, n)
        return
    if kind not in ("class", "real", "none"):
        raise ValueError(f"target_kind in its header is {kind!r}")
    if target is None:
        if header["target_kind"] != "none":
            raise ValueError("it has no target")
        return
    if len(target) != n or target.ndim > 2:
        raise ValueError(f"a target of shape {target.shape} does not go with {n} rows")
    if header["target_kind"] == "class":
        if target.dtype.kind not in "iu" or target.ndim != 1 or arrays["classes"].ndim != 1:
            raise ValueError("its target holds no class codes")
        if target.min() < -1 or target.max() >= len(arrays["classes"]):
            raise ValueError(f"its target holds codes of classes beyond the {len(arrays['classes'])} it names")
    elif target.dtype.kind not in "iuf":
        raise ValueError("its target holds no numbers")


def _check_columns(kinds: Any, names: Any, target: Any, arrays: dict[str, Any], n: int) -> None:
    """Several targets: a kind, a name and a column each, and codes of classes that the file names."""
    if not kinds or not set(map(str, kinds)) <= set(KINDS):
        raise ValueError(f"target_kind in its header is {kinds!r}")
    if not isinstance(names, list) or len(names) != len(kinds) or not all(isinstance(name, str) for name in names):
        raise ValueError("its targets have no names")
    if target is None or target.dtype.kind != "f" or target.shape != (n, len(kinds)):
        raise ValueError("its targets do not go with its rows")
    for t, kind in enumerate(kinds):
        classes, codes = arrays.get(f"classes/{t}"), target[~np.isnan(target[:, t]), t]
        if kind == "real":
            continue
        if classes is None or classes.ndim != 1 or not np.isin(codes, np.arange(len(classes))).all():
            raise ValueError(f"target {t} holds codes of classes beyond those that it names")


def check_units(about: Any, arrays: dict[str, Any], n: int) -> None:
    """A unit for each row, or none at all, and what units are called."""
    units, groups = arrays.get("units"), arrays.get("groups")
    if (about is None) != (units is None):
        raise ValueError("its units have no name, or its header names units that it does not hold")
    if units is None:
        return
    kinds = {"name": str, "in_order": bool, "source": str, "words": str}
    if not isinstance(about, dict) or set(about) != set(kinds):
        raise ValueError("units in its header are not described")
    if any(not isinstance(about[name], kind) for name, kind in kinds.items()):
        raise ValueError("units in its header are described by other values")
    if units.shape != (n,) or units.min() < 0 or units.max() >= 2**31:
        raise ValueError(f"units of shape {units.shape} do not go with {n} rows")
    if groups is not None and groups.shape != (n,):
        raise ValueError(f"groups of shape {groups.shape} do not go with {n} rows")
