"""Posteriors known at the rows only: any model's class probabilities, and the arcs between them.

A least-squares support vector machine, or any classifier with ``predict_proba``, gives each row its class
probabilities; the distance of two rows is the arc between their square roots, the chord rule with one sub-segment. What
lies between the rows is not looked at, so structure inside a class comes from the Euclidean part of the tensor
(supervision < 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prismap.metrics.segments import arc


@dataclass(frozen=True)
class RootRows:
    """Square roots of class probabilities (n, C) of some rows; fold is -1 throughout: honest rows need no pairing."""

    root: np.ndarray
    fold: np.ndarray
    dtype: np.dtype

    def __len__(self):
        return len(self.root)

    def take(self, index):
        """Some of the rows."""
        return RootRows(self.root[index], self.fold[index], self.dtype)


class RowwisePosterior:
    """Class probabilities of rows, from any source.

    Parameters
    ----------
    name : what the probabilities come from.
    predict : ``predict(rows, self_similarity)``, from new rows to probabilities.
    n_classes : number of classes.
    """

    def __init__(self, name, predict, n_classes):
        self.name, self.predict, self.n_classes = name, predict, n_classes

    def rows(self, P, dtype):
        """State of rows from their probabilities; `dtype` is that of the distances."""
        root = np.sqrt(np.asarray(P, dtype=np.float64))
        return RootRows(root, np.full(len(root), -1, dtype=np.intp), np.dtype(dtype))

    def probabilities(self, rows):
        """Class probabilities of rows."""
        return (rows.root**2).astype(rows.dtype)

    def block(self, A, B):
        """The pairs of two sets of rows."""
        return RootBlock(A.root, B.root, A.dtype)


@dataclass(frozen=True)
class RootBlock:
    """Arcs between two sets of rows, tile by tile."""

    root_a: np.ndarray
    root_b: np.ndarray
    dtype: np.dtype

    def sub_lengths(self, a, b):
        """The one sub-segment's length for the pairs of two slices.

        ``||r - r'||^2 = 2 - 2 r.r'`` by one product, in double precision: half of its digits are plenty for an arc.
        """
        gap = self.root_a[a] @ self.root_b[b].T
        gap *= -2
        gap += 2
        yield arc(np.maximum(gap, 0).astype(self.dtype, copy=False))
