"""Geodesics of the Fisher metric by a variational method, which Schulz (2017, sec. 2.7) leaves open.

A path is cut into steps, and its energy is minimised over the places of its inner nodes. With ``r_c = 2 sqrt(p_c)`` the
Fisher tensor is the product of the factors ``F_c = grad r_c`` (`FisherMetric.tensor_factor`), so that the energy

    E = T sum_t ( w ||r(x_t+1) - r(x_t)||^2 + (1 - w) ||x_t+1 - x_t||^2 / sigma^2 )

has the gradient ``2 T F(x_t)^T (2 r_t - r_t-1 - r_t+1) w`` and that of the Euclidean part: no derivative of a tensor
and no matrix of D x D is needed. Nodes lie between `corners` of the path, which alone are free.

No path is shorter than the arc between the posteriors of its ends, with the Euclidean part ``sqrt(w arc^2 + (1 - w)
||x - x'||^2 / sigma^2)``. A path of that length is a geodesic, whatever else there is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prismap._util.optimise import minimize
from prismap.exceptions import InputError
from prismap.metrics._segments import arc


class Geodesic(NamedTuple):
    """A path between two rows, its length, that of the straight segment, and the least that any path can have."""

    corners: np.ndarray
    length: float
    straight_length: float
    least_length: float


def geodesic(metric, a, b, *, n_corners=12, steps=8, max_iter=200):
    """The shortest of the paths found from the straight segment between rows a and b; never longer than that.

    Both lengths are taken at four times as many nodes as the energy has, so that no path gains by a long step.
    """
    if metric._posterior() is None:
        raise InputError("geodesics are bent by a target, and with supervision=0 there is none: they are straight.")
    ends = np.asarray(np.vstack([a, b]), dtype=np.float64)
    share = np.linspace(0, 1, n_corners + 2)[:, None]
    straight = (1.0 - share) * ends[0] + share * ends[1]
    unit = metric.bandwidth_
    fixed = straight[[0, -1]] / unit
    between = interpolation(n_corners + 2, steps)

    def energy_of(inner):
        value, gradient = energy(metric, between @ np.vstack([fixed[:1], inner, fixed[1:]]) * unit)
        return value, unit * (between.T @ gradient)[1:-1]

    inner = minimize(energy_of, straight[1:-1] / unit, max_iter=max_iter, tol=1e-9).x * unit
    bent = np.vstack([straight[:1], inner, straight[-1:]])
    fine = interpolation(n_corners + 2, 4 * steps)
    straight_length, bent_length = (path_length(metric, fine @ corners) for corners in (straight, bent))
    corners = bent if bent_length < straight_length else straight
    return Geodesic(corners, min(bent_length, straight_length), straight_length, path_length(metric, ends))


def interpolation(n_corners, steps):
    """Weights of the corners in nodes, `steps` equal steps from each corner to the next; rows are nodes."""
    place = np.arange(steps * (n_corners - 1) + 1) / steps
    return np.maximum(0.0, 1.0 - np.abs(place[:, None] - np.arange(n_corners)))


def energy(metric, X):
    """The energy of a path with nodes X (n, D), and its gradient by them."""
    w, n_steps = metric.supervision, len(X) - 1
    R = roots(metric, X)
    back = second_differences(R)
    gradient = w * np.einsum("nc,ncd->nd", back, metric.tensor_factor(X).astype(np.float64))
    value = w * float(np.sum(np.diff(R, axis=0) ** 2))
    euclidean = (1.0 - w) / metric.bandwidth_**2
    value += euclidean * float(np.sum(np.diff(X, axis=0) ** 2))
    return n_steps * value, 2.0 * n_steps * (gradient + euclidean * second_differences(X))


def path_length(metric, X):
    """The length of a path with nodes X by arcs between their posteriors: of its two ends alone a lower bound."""
    w = metric.supervision
    squared = w * arc(np.sum(np.diff(roots(metric, X) / 2.0, axis=0) ** 2, axis=1)) ** 2
    squared += (1.0 - w) / metric.bandwidth_**2 * np.sum(np.diff(X, axis=0) ** 2, axis=1)
    return float(np.sqrt(squared).sum())


def roots(metric, X):
    """``2 sqrt(p)`` of rows."""
    return 2.0 * np.sqrt(np.asarray(metric.class_probabilities(X), dtype=np.float64))


def second_differences(A):
    """``2 a_t - a_t-1 - a_t+1``, with one neighbour at the ends."""
    steps = np.diff(A, axis=0, prepend=A[:1], append=A[-1:])
    return steps[:-1] - steps[1:]
