"""The vantage-point tree against all pairs: distances computed, recall, and time.

`ours` is the tree, `theirs` the exact search in blocks; a case notes the distances computed as a share of n^2 and
the recall. The tree pays where distances are dear and the data has few dimensions; elsewhere it computes most of n^2 in
small blocks, and the exact search in large ones is quicker.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from prismap.metrics import FisherMetric, NamedMetric
from prismap.neighbors._search import vptree_neighbors


def cases(data_folder=None):
    """Rows in three dimensions, and digits under the Fisher metric, as published and cross-fitted."""
    X = np.random.default_rng(0).normal(size=(8000, 3))
    yield case("8,000 rows in 3 dimensions, Euclidean, 15 neighbours", NamedMetric().fit(X), len(X), 15)
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    published = FisherMetric(posterior="parzen", cross_fit=False, random_state=0).fit(X, y)
    yield case("digits, Fisher as published, 60 neighbours", published, len(X), 60)
    rough = vptree_neighbors(published.between, len(X), 60, slack=1.0, random_state=0)[2]
    print(f"  the same with slack=1: {rough}", flush=True)
    folded = FisherMetric(posterior="parzen", random_state=0).fit(X, y)
    yield case("digits, Fisher cross-fitted, 60 neighbours", folded, len(X), 60)
    default = FisherMetric(supervision=0.8, random_state=0).fit(X, y)
    yield case("digits, Fisher with supervision 0.8 (lssvm), 60 neighbours", default, len(X), 60)


def case(name, metric, n_rows, n_neighbors):
    """One comparison; both sides must find the same neighbours up to what the recall says."""
    block = metric.between
    report = vptree_neighbors(block, n_rows, n_neighbors, random_state=0)[2]

    def agree(ours, theirs):
        reached = theirs[0][:, -1:] * (1 + 1e-5)
        return abs(float(np.mean(ours[0] <= reached)) - report.recall) < 0.05

    return {
        "name": name,
        "ours": lambda: vptree_neighbors(block, n_rows, n_neighbors, n_checked=0, random_state=0),
        "theirs": lambda: metric.kneighbors(None, n_neighbors),
        "check": agree,
        "note": str(report),
        "repeat": 1,
    }
