"""Rows that are probably mislabelled: their features speak for another class, out of fold.

Confident learning (Northcutt, Jiang & Chuang 2021, sec. 3): with the cross-fitted probabilities p_c of the classes, a
row counts as one of class c if p_c reaches the threshold t_c, the mean of p_c over the rows that have this label. Two
rules are stricter, so that clean tables have hardly any: t_c is at least the 0.3 quantile of the same numbers, and the
label that the row has must be improbable (`MislabelledRules`). A posterior that is no better than chance says nothing.

Where classes overlap, clean rows on the other side are listed, too. There the posterior is unsure of many rows: its
likeliest class has a chance below `MislabelledRules.unsure`. Of clean Gaussians that overlap fewer rows are listed than
it is unsure of; with planted errors there are more, as long as most of the listed rows are wrong. So only then they are
called probably mislabelled.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from prismap._util.arrays import Numbers, Rows
from prismap.exceptions import PrismapWarning
from prismap.map._choose import knows_target
from prismap.map._fitted import FittedMap
from prismap.metrics import FisherMetric
from prismap.quality._statements import Statement
from prismap.target import ClassTarget


@dataclass(frozen=True)
class MislabelledRules:
    """When a row is probably mislabelled.

    Attributes
    ----------
    improbable : a label is improbable below this chance.
    typical : t_c is at least this quantile of p_c over the rows of class c.
    unsure : below this chance of its likeliest class, the posterior is unsure of a row.
    fewest_sure : so many rows at least are called mislabelled: one or two of any clean table are unusual.
    fewest_of_class : classes of fewer rows have no threshold, and labels that belong to them are not doubted.
    most_rows : rows for which a posterior is fitted where the map has none, because its target was left out.
    """

    improbable: float = 0.3
    typical: float = 0.3
    unsure: float = 0.6
    fewest_sure: int = 3
    fewest_of_class: int = 10
    most_rows: int = 2000


RULES = MislabelledRules()


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
    for c in np.flatnonzero(sizes >= RULES.fewest_of_class):
        own = P[codes == c, c]
        limits[c] = max(own.mean(), np.quantile(own, RULES.typical))
    given = P[np.arange(n_rows), codes]
    others = np.where(limits <= P, P, -np.inf)
    others[np.arange(n_rows), codes] = -np.inf
    likelier = others.argmax(axis=1)
    doubted = (codes >= 0) & (others.max(axis=1) > given) & (given < RULES.improbable)
    doubted &= sizes[np.maximum(codes, 0)] >= RULES.fewest_of_class
    rows = np.flatnonzero(doubted)
    rows = rows[np.argsort(given[rows], kind="stable")]
    return rows, likelier[rows]


def mislabelled_rows(fitted: FittedMap) -> tuple[tuple[dict[str, Any], ...], int]:
    """The rows of a map whose labels are improbable, the surest first, and of how many rows the posterior is unsure.

    The rows are dictionaries, as `MapReport.mislabelled`.
    """
    target = fitted.target
    metric = posterior_of(fitted) if isinstance(target, ClassTarget) else None
    if metric is None or not knows_target(metric, target):
        return (), 0
    P = metric.class_probabilities()
    rows, likelier = improbable_labels(P, target.values)
    doubted = tuple(
        {
            "row": int(fitted.given.fitted[row]), "given": str(target.classes[target.values[row]]),
            "likelier": str(target.classes[code]), "chance": float(P[row, code]),
            "chance_given": float(P[row, target.values[row]]),
        }
        for row, code in zip(rows, likelier, strict=True)
    )  # fmt: skip
    return doubted, int((P[target.labelled].max(axis=1) < RULES.unsure).sum())


def posterior_of(fitted: FittedMap) -> FisherMetric | None:
    """The metric with the cross-fitted posterior of the map; one that is fitted now where the target was left out."""
    metric = fitted.metric
    if isinstance(metric, FisherMetric):
        return metric if metric.cross_fit and metric.posterior_ is not None else None
    if fitted.is_large or metric is not fitted.data or len(fitted.positions) > RULES.most_rows:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        metric = FisherMetric(fitted.target.kind, random_state=fitted.seed)
        return metric.fit_on(fitted.data, fitted.target.present())  # type: ignore[no-any-return]


def mislabelled_finding(doubted: tuple[dict[str, Any], ...], n_unsure: int, n_rows: int) -> tuple[Statement, ...]:
    """What a report states of them; nothing if there is none.

    n_unsure : rows that the posterior is unsure of.
    """
    if not doubted:
        return ()
    first, one = doubted[0], len(doubted) == 1
    words = "One row has a label that its" if one else f"{len(doubted)} rows have labels that their"
    words += " features make improbable, out of fold"
    answer = "yes" if len(doubted) > n_unsure and len(doubted) >= RULES.fewest_sure else "cannot tell"
    if answer == "yes":
        words += ": most of them are probably mislabelled"
    else:
        unsure = f" (the posterior is unsure of {n_unsure} rows)" if n_unsure else ""
        words += f". {'It' if one else 'They'} may be mislabelled, unusual, or lie where classes overlap{unsure}"
    words += f". {'It' if one else 'The surest'}"
    words += (
        f" is row {first['row']}, which has the label {first['given']} and is {first['likelier']} with a chance of "
        f"{first['chance']:.0%}."
    )
    figures = {"share": len(doubted) / n_rows, "unsure": n_unsure / n_rows}
    return (Statement("mislabelled_rows", words, "detail", answer, figures, n_rows=n_rows),)
