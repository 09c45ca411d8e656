"""Toy sets of thesis 3.5 and 3.6, generated with known truth: discs, a cube, a ball, and two regressions."""

from __future__ import annotations

import numpy as np


def disc(rng, n, radius=1.0):
    """Points spread evenly over a disc."""
    angle, r = rng.uniform(0, 2 * np.pi, n), radius * np.sqrt(rng.uniform(size=n))
    return np.column_stack([r * np.cos(angle), r * np.sin(angle)])


def plate_in_ring(seed=0, n=200):
    """Data set 1 (Fig. 3.3 left): a plate (class 1) in a ring (class 2), nearly flat, and one row astray."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = rng.uniform(1.6, 2.2, n)
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    plane = np.vstack([disc(rng, n - 1), [[1.25, 1.25]], ring])
    X = np.column_stack([plane, 0.05 * rng.normal(size=2 * n)])
    return X, np.repeat([1, 2], n)


def three_discs(seed=0, n=120, gap=1.5):
    """Data set 2 (Fig. 3.3 right): three flat discs above each other, the middle one of class 2, the lowest noisy."""
    rng = np.random.default_rng(seed)
    height = np.repeat([2 * gap, gap, 0.0], n)
    X = np.column_stack([np.vstack([disc(rng, n, 3.0) for _ in range(3)]), height])
    X[2 * n :, 2] += 0.2 * gap * rng.normal(size=n)
    return X, np.repeat([1, 2, 1], n)


def cube(seed=0, n=500, labelling="plane"):
    """A filled cube in ten random dimensions; labels by one plane, by two parallel ones, or at random (3.5.2)."""
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-1, 1, size=(n, 3))
    y = {"plane": Z[:, 0] > 0, "two planes": np.abs(Z[:, 0]) > 1 / 3, "random": rng.uniform(size=n) > 0.5}[
        labelling
    ].astype(int)
    return Z @ rng.normal(size=(3, 10)), y


def tube_in_ball(seed=0, n=800):
    """Data set 3 (Fig. 3.14): a ball; class 2 is a bent tube with a gap, and a noisy region apart from it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X *= (rng.uniform(size=n) ** (1 / 3) / np.linalg.norm(X, axis=1))[:, None]
    t = np.linspace(-0.9, 0.9, 200)
    core = np.column_stack([t, 0.35 * np.sin(2.5 * t), 0.3 * np.cos(2.5 * t) - 0.2])
    distance = np.linalg.norm(X[:, None] - core[None], axis=2)
    at = t[distance.argmin(axis=1)]
    tube = (distance.min(axis=1) < 0.35) & (np.abs(at - 0.1) > 0.13)
    noisy = (np.linalg.norm(X - [0.1, -0.55, 0.5], axis=1) < 0.3) & (rng.uniform(size=n) < 0.5)
    return X, np.where(tube | noisy, 2, 1)


def three_plates(seed=0, n=150):
    """Regression set 1 (Fig. 3.20 left): three plates above each other, the lowest noisy; y is the squared height."""
    rng = np.random.default_rng(seed)
    height = np.repeat([2.0, 1.0, 0.0], n)
    X = np.column_stack([np.vstack([rng.uniform(-2, 2, size=(n, 2)) for _ in range(3)]), height])
    X[2 * n :, 2] += 0.25 * rng.normal(size=n)
    return X, 25 * X[:, 2] ** 2


def two_clouds(seed=0, n=200):
    """Regression set 2 (Fig. 3.20 right): a cloud with a linear and one with a squared target, one outlier between.

    The target depends on the first two dimensions only. The outlier is the last row.
    """
    rng = np.random.default_rng(seed)
    left, right = rng.uniform(-0.5, 0.5, size=(2, n, 3))
    y = np.concatenate([20 + 30 * (left[:, 0] + left[:, 1]), 100 * (right[:, 0] ** 2 + right[:, 1] ** 2) * 2])
    X = np.vstack([left - [1.2, 0, 0], right + [1.2, 0, 0], [[0.0, 0.0, 0.0]]])
    return X, np.append(y, -40.0)
