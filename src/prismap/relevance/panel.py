"""What a page or a table says about relevance: plain numbers and names, ready for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from prismap.exceptions import InputError
from prismap.relevance.features import FeatureRelevance


def relevance_panel(
    X: Any, Y: Any, *, names: Any = None, groups: Any = None, subset: Any = None, model: Any = None, top: int = 10
) -> dict[str, Any]:
    """Which features drive the map and, with `subset` or `groups`, which drive those points.

    Parameters
    ----------
    X, Y : rows, and their positions on the map
    names : names of the features, default=None
    groups : a label per row, default=None
        Groups of fewer than five rows are left out.
    subset : rows whose neighbourhoods are judged, default=None
    model : FeatureRelevance, default=None
        None takes the "forward" one, which is quick.
    top : int, default=10
        How many features are listed.

    Returns
    -------
    dict : "method", "n_neighbors", "map" and, if asked for, "subset" and "groups" (name -> the same). Each part holds
        "threshold" and "features", the `top` most relevant with "name", "relevance", and "relevant", whether a feature
        is above every permuted one.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> [one["name"] for one in relevance_panel(X, X[:, :2], names=["a", "b", "c"], top=1)["map"]["features"]]
    ['a']
    """
    model = FeatureRelevance(random_state=0) if model is None else clone(model)
    model.fit(X, Y)
    if names is None:
        names = getattr(model, "feature_names_in_", [f"column {j}" for j in range(len(model.relevance_))])
    names = [str(name) for name in names]
    if len(names) != len(model.relevance_):
        raise InputError(f"names has {len(names)} entries for {len(model.relevance_)} features.")
    panel: dict[str, Any] = {
        "method": model.method, "n_neighbors": int(model.n_neighbors_), "map": _part(model, names, top)
    }  # fmt: skip
    if subset is not None:
        panel["subset"] = _part(model.fit(X, Y, subset=subset), names, top)
    if groups is not None:
        groups = np.asarray(groups)
        kept = [value for value, count in zip(*np.unique(groups, return_counts=True), strict=True) if count >= 5]
        panel["groups"] = {str(v): _part(model.fit(X, Y, subset=groups == v), names, top) for v in kept}
    return panel


def _part(model: Any, names: list[str], top: int) -> dict[str, Any]:
    threshold = getattr(model, "threshold_", None)
    relevant = getattr(model, "relevant_", [None] * len(names))
    return {
        "threshold": threshold,
        "features": [
            {
                "name": names[j],
                "relevance": float(model.relevance_[j]),
                "relevant": None if relevant[j] is None else bool(relevant[j]),
            }
            for j in np.argsort(-model.relevance_, kind="stable")[:top]
        ],
    }
