"""Regularisation by the permuted-label baseline (Schulz et al. 2017, sections 2 and 5).

An in-sample estimate that is flexible enough finds classes in noise. The papers choose how flexible it may be by this
effect: with permuted labels the nearest neighbours should predict a label as often as chance does, and the most
flexible setting that still has this baseline is taken. Cross-fitting needs no such choice, because its baseline is
always that of chance.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from prismap._util.random import as_seed
from prismap._util.validation import changed
from prismap.exceptions import PrismapWarning
from prismap.metrics.posteriors._base import MOST_SUPPORT
from prismap.target import Target

#: A baseline is as expected when its error is at least this share of the error of chance.
EXPECTED_SHARE = 0.9
#: Permutations that the error is the mean of, and rows whose nearest neighbours are looked at.
N_PERMUTATIONS, JUDGED_ROWS = 3, 500


def chance_error(codes: np.ndarray) -> float:
    """Chance that another row drawn at random has another label: ``sum_c n_c (n - n_c) / n (n - 1)``."""
    sizes = np.bincount(codes[codes >= 0])
    n = sizes.sum()
    return float((sizes * (n - sizes)).sum() / max(n * (n - 1), 1))


def neighbor_error(D: np.ndarray, rows: np.ndarray, codes: np.ndarray) -> float:
    """Share of rows whose nearest other row has another label.

    D : (n_judged, n) distances of some rows to all. rows : their indices among all. codes : labels of all.
    """
    D = np.array(D, dtype=np.float64)
    D[np.arange(len(rows)), rows] = np.inf
    return float(np.mean(codes[D.argmin(axis=1)] != codes[rows]))


def as_expected(candidates: Sequence[Any], error: Callable[[Any], float], chance: float, what: str) -> tuple[Any, Any]:
    """The first candidate with the expected baseline, and the curve of (candidate, permuted error) so far.

    The candidates go from the most flexible to the least. If none has it the least flexible one is taken, with a
    warning.
    """
    curve = []
    for candidate in candidates:
        curve.append((candidate, error(candidate)))
        if curve[-1][1] >= EXPECTED_SHARE * chance:
            return candidate, tuple(curve)
    warnings.warn(
        f"{what}='baseline': no value has the error of chance with permuted labels ({curve[-1][1]:.2f} with "
        f"{candidates[-1]}, chance {chance:.2f}), so the picture will show classes that are noise. Use cross_fit=True.",
        PrismapWarning,
        stacklevel=4,
    )
    return candidates[-1], tuple(curve)


def support_by_baseline(metric: Any, data: Any, target: Target, rng: Any) -> tuple[int, Any]:
    """The largest support whose baseline is as expected, by 1-NN errors in the Fisher metric of permuted labels.

    The paper looks at the error on the map; in the metric it costs no embedding and does not depend on one.
    """
    labelled = target.labelled_rows
    judged = rng.permutation(len(labelled))[:JUDGED_ROWS]
    shuffled = [target.permuted(rng) for _ in range(N_PERMUTATIONS)]
    seed, most, n_classes = as_seed(rng), min(len(labelled), MOST_SUPPORT), len(target.classes)

    def error(n_support):
        posterior = changed(metric.posterior, n_support=n_support)
        trial = changed(metric, posterior=posterior, random_state=seed)
        errors = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrismapWarning)  # the fit itself gives the warning again
            for one in shuffled:
                D = trial.fit_on(data, one).between(labelled[judged], labelled)
                errors.append(neighbor_error(D, judged, one.values[labelled]))
        return float(np.mean(errors))

    shares = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)  # the most flexible first
    sizes = dict.fromkeys(max(n_classes, round(share * most)) for share in shares)
    return as_expected(list(sizes), error, chance_error(target.values), "n_support")
