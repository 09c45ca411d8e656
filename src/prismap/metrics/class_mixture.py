"""Which of several similarities tell classes apart: a mixture of them, judged on held-out rows.

The weights are those whose mixture of centred similarities comes nearest to the similarity of the labels, by least
squares and without negative ones (the alignment of Cortes, Mohri and Rostamizadeh, 2012). Each similarity is centred
and brought to unit size before, so that weights can be compared; this looks at all rows, but at no label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.svm import SVC

from prismap._brief import Brief
from prismap._random import as_generator
from prismap._validation import check_similarity
from prismap.exceptions import InputError
from prismap.target import make_target, split_rows


@dataclass(frozen=True, repr=False)
class ClassMixture(Brief):
    """The mixture that separates classes, and how well, out of fold.

    Attributes
    ----------
    weights : of each similarity by name, on all labelled rows; they sum to 1.
    spread : standard deviation of each weight over the folds.
    permuted : mean weights for permuted labels: what a weight means that is no larger than this, nobody knows.
    error : share of rows that a support vector machine on the mixture gets wrong, weights and machine without them.
    alone : the same of each similarity by itself.
    equal : the same of equal weights.
    permuted_error : the same of the mixture for permuted labels.
    """

    weights: dict[str, float]
    spread: dict[str, float]
    permuted: dict[str, float]
    error: float
    alone: dict[str, float]
    equal: float
    permuted_error: float

    def mix(self, similarities: Mapping[str, Any]) -> np.ndarray:
        """The mixture of matrices as they were given to `mixture_for_classes`, for ``data="similarity"``."""
        _, stacked = stack(similarities)
        return np.tensordot([self.weights[name] for name in similarities], scaled(stacked), 1)


def mixture_for_classes(similarities: Mapping[str, Any], y: Any, *, n_folds: int = 5, random_state: Any = None):
    """Weights of several similarities for classes.

    Parameters
    ----------
    similarities : matrices (n, n) by name, such as ``Objects(compare, "similarity").over(objects).block()``.
    y : classes; rows without one are left out.
    n_folds : each fold is judged by weights and a machine from the others.
    random_state : seed of the folds and of the permuted labels.

    Returns
    -------
    ClassMixture

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> telling, noise = rng.normal(size=(40, 2)) + 3 * y[:, None], rng.normal(size=(40, 2))
    >>> found = mixture_for_classes({"telling": telling @ telling.T, "noise": noise @ noise.T}, y, random_state=0)
    >>> found.weights["telling"] > 0.9
    True
    """
    names, stacked = stack(similarities)
    target = make_target(y, len(stacked[0]), "class")
    known = target.labelled_rows
    target = target.take(known)
    sizes = np.bincount(target.values)
    if sizes.min() < n_folds:
        raise InputError(
            f"y must hold at least two classes of {n_folds} rows or more; the smallest of {len(sizes)} has "
            f"{int(sizes.min())}. Use fewer n_folds."
        )
    rng = as_generator(random_state)
    codes, kernels = target.values, scaled(stacked)[:, known[:, None], known]
    seed = int(rng.integers(2**31))
    folds = split_rows(len(codes), n_folds, seed, codes)
    of_folds, error = judged(kernels, codes, folds)
    shuffled = target.permuted(rng).values
    of_permuted, permuted_error = judged(kernels, shuffled, split_rows(len(codes), n_folds, seed, shuffled))
    same = np.full(len(names), 1 / len(names))
    singles = [out_of_fold(kernels, codes, folds, [one] * len(folds)) for one in np.eye(len(names))]

    def by_name(values):
        return dict(zip(names, np.asarray(values).tolist(), strict=True))

    return ClassMixture(
        by_name(aligned(kernels, codes)), by_name(np.std(of_folds, axis=0)), by_name(np.mean(of_permuted, axis=0)),
        error, by_name(singles), out_of_fold(kernels, codes, folds, [same] * len(folds)), permuted_error,
    )  # fmt: skip


def stack(similarities):
    """Names and matrices (m, n, n), checked."""
    if not isinstance(similarities, Mapping) or not similarities:
        raise InputError("similarities must be a dictionary of matrices by name, with at least one.")
    stacked = []
    for name, matrix in similarities.items():
        matrix = np.asarray(matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape != np.shape(next(iter(similarities.values()))):
            raise InputError(f"similarities[{name!r}] has shape {matrix.shape}; all must be square and of one size.")
        if not np.isfinite(matrix).all():
            raise InputError(f"similarities[{name!r}] holds values that are not finite.")
        check_similarity(matrix)
        stacked.append(matrix)
    return [str(name) for name in similarities], np.stack(stacked)


def scaled(stacked):
    """Each matrix centred, in the space of its similarity, and of unit size; one without any structure is all zero."""
    rows = stacked.mean(axis=2, keepdims=True)
    centred = stacked - rows - rows.transpose(0, 2, 1) + stacked.mean(axis=(1, 2), keepdims=True)
    size = np.sqrt(np.square(centred).mean(axis=(1, 2), keepdims=True))
    return np.divide(centred, size, out=np.zeros_like(centred), where=size > 1e-12 * np.abs(stacked).max())


def aligned(kernels, codes):
    """Weights without negative ones, summing to 1, whose mixture is nearest to the similarity of the labels."""
    labels = np.eye(codes.max() + 1)[codes]
    labels = labels - labels.mean(axis=0)
    centred = kernels - kernels.mean(axis=1, keepdims=True) - kernels.mean(axis=2, keepdims=True)
    centred = centred + kernels.mean(axis=(1, 2), keepdims=True)
    weights, _ = nnls(centred.reshape(len(kernels), -1).T, (labels @ labels.T).ravel())
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(kernels), 1 / len(kernels))


def judged(kernels, codes, folds):
    """Weights of each fold's training rows, and the error of the rows left out."""
    weights = [aligned(kernels[:, train[:, None], train], codes[train]) for train, _ in folds]
    return weights, out_of_fold(kernels, codes, folds, weights)


def out_of_fold(kernels, codes, folds, weights):
    """Share of rows that a support vector machine on the others gets wrong, by the weights of each fold."""
    wrong = 0
    for (train, test), own in zip(folds, weights, strict=True):
        K = np.tensordot(own, kernels, 1)
        machine = SVC(kernel="precomputed").fit(K[np.ix_(train, train)], codes[train])
        wrong += int((machine.predict(K[np.ix_(test, train)]) != codes[test]).sum())
    return wrong / len(codes)
