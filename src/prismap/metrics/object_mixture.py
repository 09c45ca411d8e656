"""Which of several comparisons of the same objects matter: for a map of them, and for their classes.

For a map the weights are those of `MixtureMetric`, which lower the cost of a map together with its positions. They are
learnt from several starts, because the cost has many minima. The baseline gives every comparison its values back in an
order of its own: each keeps its shape, and they agree on nothing. For classes the weights are those of
`mixture_for_classes`, judged out of fold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from prismap._brief import Brief
from prismap._random import as_generator
from prismap.comparisons import ComparisonMatrix, Objects
from prismap.exceptions import InputError
from prismap.metrics.class_mixture import ClassMixture, mixture_for_classes
from prismap.metrics.mixture import MixtureMetric


@dataclass(frozen=True, repr=False)
class ComparisonWeights(Brief):
    """Weights of comparisons for a map.

    Attributes
    ----------
    weights : of each comparison by name, from the start with the lowest cost; they sum to 1. Each comparison is in
        units of its mean over all pairs.
    spread : standard deviation of each weight over the starts.
    permuted : mean weight where the comparisons agree on nothing: a weight no larger than this owes itself to the shape
        of the comparison's values.
    costs : of the map from each start.
    scales : mean of each comparison over all pairs.
    positions : of the objects on the map with the lowest cost.
    """

    weights: dict[str, float]
    spread: dict[str, float]
    permuted: dict[str, float]
    costs: np.ndarray
    scales: dict[str, float]
    positions: np.ndarray
    comparisons: dict[str, Objects] = field(repr=False)

    def __call__(self, a: Any, b: Any) -> float:
        """The mixture of two objects, for ``Objects(weights, "dissimilarity")``: a map of it places new objects too."""
        terms = (
            self.weights[name] / self.scales[name] * apart(how, a, b)
            for name, how in self.comparisons.items() if self.weights[name]
        )  # fmt: skip
        return max(0.0, sum(terms))


def comparison_weights(
    comparisons: Mapping[str, Any], objects: Any, *, n_starts: int = 5, n_permutations: int = 3,
    random_state: Any = None, **options: Any,
) -> ComparisonWeights:  # fmt: skip
    """Weights of several comparisons of the same objects, learnt together with a map of them.

    Parameters
    ----------
    comparisons : `Objects`, or names of comparisons, by a name of their own. Similarities s count by their distance
        ``sqrt(s(a, a) + s(b, b) - 2 s(a, b))``.
    objects : list of objects that all comparisons take.
    n_starts, n_permutations : starts of the weights, and of the baseline, each with a random state of its own.
    random_state : seed.
    **options : parameters of `MixtureMetric`, such as ``cost`` or ``allow_negative`` (False by default here).

    Returns
    -------
    ComparisonWeights

    See Also
    --------
    comparison_weights_for_classes : the same for classes.
    prismap.inspection.ComparisonDisplay : the weights as bars.

    References
    ----------
    I. Rice (2016), Improved data visualisation through multiple dissimilarity modelling, section 4.

    Examples
    --------
    >>> words = [stem + end for stem in ("house", "garden", "winter") for end in ("", "s", "y", "er", "ed", "ing")]
    >>> shape = Objects(lambda a, b: abs(len(a) - len(b)), "dissimilarity")
    >>> found = comparison_weights({"letters": "edit", "length": shape}, words, n_starts=2, random_state=0)
    >>> sorted(found.weights), round(sum(found.weights.values()), 6)
    (['length', 'letters'], 1.0)
    """
    hows = checked(comparisons)
    objects = list(objects)
    rng = as_generator(random_state)
    matrices = [distances(how, objects) for how in hows.values()]
    options = {"allow_negative": False, "init": "random", "n_init": 1, **options}

    def learnt(parts):
        metric = MixtureMetric(parts, random_state=int(rng.integers(2**31)), **options)
        return metric.fit(np.arange(len(objects)))

    starts = [learnt(matrices) for _ in range(n_starts)]
    shuffled = []
    for _ in range(n_permutations):
        orders = [rng.permutation(len(objects)) for _ in matrices]
        shuffled.append(learnt([D[np.ix_(order, order)] for D, order in zip(matrices, orders, strict=True)]))
    costs = np.array([one.stress_ for one in starts])
    best = starts[int(costs.argmin())]

    def by_name(values):
        return dict(zip(hows, np.asarray(values, dtype=float).tolist(), strict=True))

    return ComparisonWeights(
        by_name(best.weights_), by_name(np.std([one.weights_ for one in starts], axis=0)),
        by_name(np.mean([one.weights_ for one in shuffled], axis=0)), costs, by_name(best.scales_), best.positions_,
        hows,
    )  # fmt: skip


def comparison_weights_for_classes(
    comparisons: Mapping[str, Any], objects: Any, y: Any, *, n_folds: int = 5, random_state: Any = None
) -> ClassMixture:
    """Weights of several comparisons of the same objects for their classes, judged out of fold.

    Parameters
    ----------
    comparisons : `Objects`, or names of comparisons, by a name of their own. Similarities count as they are,
        dissimilarities by a Gaussian kernel whose width is their median.
    objects, y : list of objects that all comparisons take, and their classes.
    n_folds, random_state : as `mixture_for_classes`.

    Returns
    -------
    ClassMixture : weights with their spread over folds, beside permuted labels, and the errors of held-out objects.

    Examples
    --------
    >>> words, kind = ["aab", "aba", "baa", "ccd", "cdc", "dcc"] * 5, [0, 0, 0, 1, 1, 1] * 5
    >>> found = comparison_weights_for_classes({"edits": "edit", "bytes": "compression"}, words, kind, random_state=0)
    >>> sorted(found.weights)
    ['bytes', 'edits']
    """
    objects = list(objects)
    kernels = {}
    for name, how in checked(comparisons).items():
        kernel = "gaussian" if how.kind == "dissimilarity" else "values"
        kernels[name] = ComparisonMatrix(how, kernel=kernel).fit_transform(objects)
    return mixture_for_classes(kernels, y, n_folds=n_folds, random_state=random_state)


def checked(comparisons: Any) -> dict[str, Objects]:
    """Comparisons by name, at least two."""
    if not isinstance(comparisons, Mapping) or len(comparisons) < 2:
        raise InputError("comparisons must be a dictionary of at least two, by name.")
    return {str(name): how if isinstance(how, Objects) else Objects(how) for name, how in comparisons.items()}


def distances(how: Objects, objects: list[Any]) -> np.ndarray:
    """Dissimilarities between all objects."""
    values = how.over(objects).block()
    if how.kind == "dissimilarity":
        return values
    own = np.diag(values)
    D = np.sqrt(np.maximum(own[:, None] + own - 2 * values, 0.0))
    np.fill_diagonal(D, 0.0)
    return D


def apart(how: Objects, a: Any, b: Any) -> float:
    """The dissimilarity of two objects."""
    named = how.comparison
    compare: Any = how.compare if named is None else lambda x, z: named(named.prepared(x), named.prepared(z))
    if how.kind == "dissimilarity":
        return float(compare(a, b))
    return sqrt(max(0.0, compare(a, a) + compare(b, b) - 2 * compare(a, b)))
