"""Rows that are probably mislabelled: their features speak for another class, out of fold.

Confident learning (Northcutt, Jiang & Chuang 2021, sec. 3): with the cross-fitted probabilities p_c of the classes, a
row counts as one of class c if p_c reaches the threshold t_c, the mean of p_c over the rows that have this label. Two
rules are stricter, so that clean tables have hardly any: t_c is at least the 0.3 quantile of the same numbers, and the
label that the row has must be improbable (`IMPROBABLE`). A posterior that is no better than chance says nothing.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from prismap._util.arrays import Numbers, Rows
from prismap.exceptions import PrismapWarning
from prismap.map._choose import knows_target
from prismap.map._fitted import FittedMap
from prismap.metrics import FisherMetric
from prismap.quality._statements import Statement
from prismap.target import ClassTarget

#: A label is improbable below this chance; t_c is at least this quantile of p_c over the rows of class c.
IMPROBABLE, TYPICAL = 0.3, 0.3
#: Classes of fewer rows have no threshold, and labels that belong to them are not doubted.
FEWEST_OF_CLASS = 10
#: Rows for which a posterior is fitted where the map has none, because its target was left out.
MOST_ROWS = 2000


def improbable_labels(P: Numbers, codes: Rows) -> tuple[Rows, Rows]:
    """Rows whose label is improbable, the surest first, and the likelier class of each.

    Parameters
    ----------
    P : (n, C) probabilities of the classes, out of fold
    codes : (n,) labels, -1 for none

    Examples
    --------
    >>> P = np.repeat([[0.9, 0.1], [0.1, 0.9]], 20, axis=0)
    >>> codes = np.repeat([0, 1], 20)
    >>> codes[3] = 1
    >>> improbable_labels(P, codes)
    (array([3]), array([0]))
    """
    n_rows, n_classes = P.shape
    sizes = np.bincount(codes[codes >= 0], minlength=n_classes)
    limits = np.full(n_classes, np.inf)
    for c in np.flatnonzero(sizes >= FEWEST_OF_CLASS):
        own = P[codes == c, c]
        limits[c] = max(own.mean(), np.quantile(own, TYPICAL))
    given = P[np.arange(n_rows), codes]
    others = np.where(limits <= P, P, -np.inf)
    others[np.arange(n_rows), codes] = -np.inf
    likelier = others.argmax(axis=1)
    doubted = (codes >= 0) & (others.max(axis=1) > given) & (given < IMPROBABLE)
    doubted &= sizes[np.maximum(codes, 0)] >= FEWEST_OF_CLASS
    rows = np.flatnonzero(doubted)
    rows = rows[np.argsort(given[rows], kind="stable")]
    return rows, likelier[rows]


def mislabelled_rows(fitted: FittedMap) -> tuple[dict[str, Any], ...]:
    """The rows of a map that are probably mislabelled, the surest first: dictionaries, as `MapReport.mislabelled`."""
    target = fitted.target
    metric = posterior_of(fitted) if isinstance(target, ClassTarget) else None
    if metric is None or not knows_target(metric, target):
        return ()
    P = metric.class_probabilities()
    rows, likelier = improbable_labels(P, target.values)
    return tuple(
        {
            "row": int(fitted.given.fitted[row]), "given": str(target.classes[target.values[row]]),
            "likelier": str(target.classes[code]), "chance": float(P[row, code]),
            "chance_given": float(P[row, target.values[row]]),
        }
        for row, code in zip(rows, likelier, strict=True)
    )  # fmt: skip


def posterior_of(fitted: FittedMap) -> FisherMetric | None:
    """The metric with the cross-fitted posterior of the map; one that is fitted now where the target was left out."""
    metric = fitted.metric
    if isinstance(metric, FisherMetric):
        return metric if metric.cross_fit and metric.posterior_ is not None else None
    if fitted.is_large or metric is not fitted.data or len(fitted.positions) > MOST_ROWS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        metric = FisherMetric(fitted.target.kind, random_state=fitted.seed)
        return metric.fit_on(fitted.data, fitted.target.present())  # type: ignore[no-any-return]


def mislabelled_finding(doubted: tuple[dict[str, Any], ...], n_rows: int) -> tuple[Statement, ...]:
    """What a report states of them; nothing if there is none."""
    if not doubted:
        return ()
    first = doubted[0]
    many = f"{len(doubted)} rows have labels" if len(doubted) > 1 else "One row has a label"
    words = (
        f"{many} that their features make improbable, out of fold: they may be mislabelled, or lie where classes "
        f"overlap. The surest is row {first['row']}, which has the label {first['given']} and is {first['likelier']} "
        f"with a chance of {first['chance']:.0%}."
    )
    share = len(doubted) / n_rows
    return (Statement("mislabelled_rows", words, figures={"share": share}, n_rows=n_rows),)
