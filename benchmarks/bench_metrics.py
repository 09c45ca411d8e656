"""All-pairs Fisher distances: against their matrix products alone, against the papers' formula, and their growth."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from prismap.metrics import FisherMetric, Parzen
from prismap.metrics._segments import fill_pairs
from prismap.metrics.posteriors._density import class_products

sys.path.append(str(Path(__file__).parent.parent / "tests"))
SLOW_PAIRS = 40


def blobs(n, n_classes, n_features=30, seed=0):
    """Overlapping Gaussian classes in float32."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    centres = rng.normal(size=(n_classes, n_features))
    return (centres[y] + rng.normal(scale=1.5, size=(n, n_features))).astype(np.float32), y


def products_alone(metric):
    """The class products of all pairs of the same tiles on the same threads, and nothing else."""
    rows = metric.posterior_.rows
    out = np.empty((len(rows), len(rows)), dtype=np.float32)

    def lengths(block, chunk_a, chunk_b, a, b):
        return class_products(block.factors_a[0][a], block.factors_b[0][b], block.starts)[0]

    blocks = {}

    def make_block(a, b):
        key = (a.start, b.start)
        if key not in blocks:
            blocks[key] = metric.posterior_.block(rows.take(a), rows.take(b))
        return blocks[key]

    fill_pairs(out, rows.fold, rows.fold, make_block, lengths, same=True)  # gathers the columns, once
    return lambda: fill_pairs(out, rows.fold, rows.fold, make_block, lengths, same=True)


def slow_pairs(metric, X, y):
    """The papers' formula with explicit tensors for a few pairs (T = 2)."""
    from reference import fisher_reference as slow

    codes = np.searchsorted(metric.classes_, y)
    X = X.astype(np.float64)

    def work():
        return [
            slow.tangent_length(
                X[i], X[i + 1], X[metric.support_], codes[metric.support_], len(metric.classes_), metric.bandwidth_, 2,
                symmetric=True,
            )
            for i in range(SLOW_PAIRS)
        ]  # fmt: skip

    return work


def cases(data_folder=None):
    """Digits (1,797 rows, 10 classes, all of them support), and growth on Gaussian classes."""
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    for cross_fit in (True, False):
        metric = FisherMetric(posterior="parzen", n_segments=2, cross_fit=cross_fit, random_state=0).fit(X, y)
        name = f"all-pairs Fisher, digits 1,797 float32, {'cross-fitted' if cross_fit else 'as published'}"
        yield {
            "name": f"{name}, against its products alone", "ours": metric.pairwise, "theirs": products_alone(metric),
            "goal": 0.5 if cross_fit else None,
        }  # fmt: skip
    tangent = FisherMetric(posterior="parzen", path="tangent", n_segments=2, cross_fit=False).fit(X, y)
    pairs = len(X) * (len(X) - 1) / 2
    yield {
        "name": "all-pairs tangent lengths (T = 2), digits, against explicit tensors a pair",
        "ours": tangent.pairwise,
        "theirs": slow_pairs(tangent, X, y),
        "check": lambda D, slow: np.allclose([D[i, i + 1] for i in range(SLOW_PAIRS)], slow, rtol=2e-3, atol=2e-4),
        "scale": pairs / SLOW_PAIRS,
        "note": f"{SLOW_PAIRS} pairs timed and scaled",
    }
    yield from growth_cases()


def growth_cases():
    """Twice the rows, the support, the classes, the sub-segments: time of the larger over the smaller."""
    base = {"n": 2000, "n_support": 1000, "n_classes": 8, "n_segments": 2}
    for name, larger in [("n", 4000), ("n_support", 2000), ("n_classes", 16), ("n_segments", 3)]:
        small, large = (timed(**{**base, name: value}) for value in (base[name], larger))
        yield {"name": f"growth: {name} {base[name]} -> {larger}", "ours": small, "theirs": large}


def timed(n, n_support, n_classes, n_segments):
    """All pairs of one size."""
    X, y = blobs(n, n_classes)
    metric = FisherMetric(posterior=Parzen(n_support), n_segments=n_segments, random_state=0).fit(X, y)
    return metric.pairwise
