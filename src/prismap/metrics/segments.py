"""Fisher lengths of straight segments, from the posterior at nodes along them.

With p(a) the class posterior along a segment, the Fisher speed is ``sqrt(sum_c p_c (d log p_c / da)^2)``, which is
``2 ||d sqrt(p) / da||``: twice the speed of sqrt(p) on the unit sphere.

- *chord*: the arc on that sphere between consecutive nodes, ``4 asin(||sqrt p(t) - sqrt p(t+1)|| / 2)``. Symmetric,
  never longer than the straight segment, and needs class masses only.
- *tangent* (000_ eq. 8-10, thesis eq. 2.18): the speed at one node a sub-segment, times its length 1/T. Left nodes as
  in the thesis, or mirrored about the middle (000_ eq. 9), which makes it symmetric.

A posterior gives the T sub-segment lengths one after another; `blend` adds them up, with the Euclidean part of the
tensor where supervision is partial.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SegmentRule:
    """How a segment is measured: "chord" or "tangent", with how many sub-segments, symmetric or at left nodes."""

    path: str = "chord"
    n_segments: int = 2
    symmetric: bool = True

    def nodes(self):
        """Where along the segment the posterior is needed: inner nodes for chords, one a sub-segment for tangents."""
        T = self.n_segments
        if self.path == "tangent":
            return [tangent_node(t, T, symmetric=self.symmetric) for t in range(T)]
        return [t / T for t in range(1, T)]


def blend(sub_lengths, n_segments, supervision, squared_steps=None):
    """Length of a segment under the tensor ``w J + (1-w) I / sigma^2``, integrated over its sub-segments.

    `squared_steps` is ``||x - x'||^2 / sigma^2`` of the pairs, needed when w < 1.
    """
    total = None
    for length in sub_lengths:
        if supervision < 1:
            np.multiply(length, length, out=length)
            length *= supervision
            length += (1 - supervision) / n_segments**2 * squared_steps
            np.sqrt(length, out=length)
        total = length if total is None else total + length
    return total


def tangent_node(t, n_segments, *, symmetric):
    """Where the speed of sub-segment t is taken: its left end, or its end away from the segment's middle."""
    if not symmetric or 2 * t + 1 < n_segments:
        return t / n_segments
    return 0.5 if 2 * t + 1 == n_segments else (t + 1) / n_segments


def root_masses(W):
    """Square roots of the class shares of masses (C, n_A, n_B), in place."""
    total = W.sum(axis=0)
    np.sqrt(W, out=W)
    np.sqrt(total, out=total)
    W /= total
    return W


def squared_gap(root, other):
    """``||sqrt p - sqrt p'||^2`` over the leading (class) axis; differences first, so small gaps keep their digits."""
    gap = np.zeros(np.broadcast_shapes(root.shape[1:], other.shape[1:]), dtype=root.dtype)
    step = np.empty_like(gap)
    for one, two in zip(root, other, strict=True):
        np.subtract(one, two, out=step)
        np.multiply(step, step, out=step)
        gap += step
    return gap


def arc(squared):
    """``4 asin(||.|| / 2)`` of a squared gap, in place."""
    np.sqrt(squared, out=squared)
    squared *= 0.5
    np.minimum(squared, 1, out=squared)
    np.arcsin(squared, out=squared)
    squared *= 4
    return squared


def between_class_deviation(W, M):
    """``sqrt(sum_c p_c (u_c - u)^2)`` with class means ``u_c = M_c / W_c`` and class shares ``p_c``."""
    total = W.sum(axis=0)
    mean = M.sum(axis=0) / total
    variance = np.zeros_like(total)
    for mass, moment in zip(W, M, strict=True):
        class_mean = np.divide(moment, mass, out=mean.copy(), where=mass > 0)
        variance += mass * (class_mean - mean) ** 2
    return np.sqrt(variance / total)
