"""A stored report, checked: it has the form of one, and can be put in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np

from prismap.bundle._json import AnyName, check_form
from prismap.exceptions import InputError

_FIGURE = (float, None)
_ESTIMATE = {"value": _FIGURE, "spread": _FIGURE}
_NULL = {"values": [_FIGURE], "chance": _FIGURE, "n_rows?": (int, None)}
_SCORE = {
    "name": str, "chance": _FIGURE, "of": (str, None), "value": _ESTIMATE, "in_sample": (_ESTIMATE, None),
    "unsupervised": (_ESTIMATE, None), "permuted": (_NULL, None), "permuted_in_sample": (_NULL, None),
    "agreement?": ({"correlation": _FIGURE, "deviations": _FIGURE, "expected?": _FIGURE}, None),
    "in_data?": (_ESTIMATE, None), "gain?": (_ESTIMATE, None), "flattery?": (_ESTIMATE, None),
}  # fmt: skip
_CURVE = {
    "kind": str, "k": [int], "value": [_FIGURE], "spread": [_FIGURE], "n_rows": int, "n_samples": int,
    "auc_log_k": _ESTIMATE, "q_local": _ESTIMATE, "k_max": int,
}  # fmt: skip
_CLUSTER = {
    "share": _FIGURE, "centre": [_FIGURE], "gap": _FIGURE, "mostly": (str, None), "purity": _FIGURE,
    "jaccard": _FIGURE, "there": _FIGURE, "splits": _FIGURE, "moved": _FIGURE,
}  # fmt: skip
_TRIED = {
    "posterior": str, "supervision": float, "score": _FIGURE, "taken": bool, "standard_error?": _FIGURE,
    "neighbors_kept?": _FIGURE, "map_score?": _FIGURE,
}  # fmt: skip
_TRUST = {
    "kind": str, "weights": [float], "n_judged": int, "calibration_error": _FIGURE, "worst_tenth": _FIGURE,
    "low": _FIGURE,
}  # fmt: skip
_CONFOUNDING = {
    "column": (str, None), "n_levels": int, "has_classes": bool, "alone": _ESTIMATE, "alone_permuted": _NULL,
    "inside": _ESTIMATE, "inside_permuted": _NULL, "level": _ESTIMATE, "level_permuted": _NULL,
    "level_in_data": (_ESTIMATE, None),
}  # fmt: skip
_LEVEL = {"correlation": _FIGURE, "p_value": _FIGURE}
#: The form of `MapReport.to_dict`. What is there for readers, such as the verdict, is made anew and not read.
REPORT = {
    "format": int, "target": str, "n_fitted": int, "n_judged": int, "judged": str, "scores": [_SCORE],
    "structure": AnyName({str: _CURVE}), "measures": AnyName({str: _ESTIMATE}),
    "overlaps": ([{"of": str, "into": str, "share": _FIGURE}], None), "rare": [str],
    "arrangement": ({
        "correlation": _FIGURE, "n_pairs": int, "p_value": _FIGURE, "n_groups?": (int, None), "n_right?": int,
        "wrong?": [[str]], "nearer?": [str],
    }, None), "trust": (_TRUST, None),
    "clusters": ({"n_runs": int, "moved": _FIGURE, "null_gaps": [_FIGURE], "found": [_CLUSTER]}, None),
    "circular": ({"separation": _FIGURE, "null": _FIGURE, "where": str}, None), "budget": str, "looks": int,
    "depth": str, "limits": [str], "bandwidths": AnyName({str: float}), "posterior": (str, None), "seed": (int, None),
    "versions": AnyName({str: str}), "times": AnyName({str: float}), "settings": AnyName({str: object}),
    "notes": [str], "warnings": [str], "supervision_curve": ([_TRIED], None),
    "medoids": [{"of": str, "row": int, "text": str}], "target_weights": AnyName({str: float}),
    "findings?": [AnyName({str: object})], "n_units?": (int, None), "unit?": str, "fewest_units?": (int, None),
    "levels?": ({"between": _LEVEL, "inside": _LEVEL, "n_units": int}, None),
    "recalls?": [{"name": str, "value": _ESTIMATE, "n_rows": int, "n_units": int}],
    "unjudged?": (str, None), "uses_target?": bool, "confounding?": (_CONFOUNDING, None),
}  # fmt: skip


def readable(version: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function that makes a report of a dictionary refuse (`InputError`) what is no report of this version.

    Values of the right type can still contradict each other. What its own rules cannot put in words is refused.
    """

    def wrapper(read: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(read)
        def checked(cls: Any, stored: Any) -> Any:
            stated = stored.get("format") if isinstance(stored, Mapping) else None
            if stated != version:
                raise InputError(f"this is no report of format {version}; its format is {stated!r:.40}.")
            try:
                with np.errstate(all="ignore"):
                    check_form(stored, REPORT, "it")
                    report = read(cls, stored)
                    report.details, report._repr_html_(), report.to_dict()
            except InputError:
                raise
            except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
                raise InputError(f"this is no report of prismap: {error}.") from error
            return report

        return checked

    return wrapper
