"""A network on a map: prismap's model view beside DeepView (with `--peers`)

DeepView (Schulz, Hinder & Hammer 2020, *DeepView: visualizing classification boundaries of deep neural networks as
scatter plots using discriminative dimensionality reduction*) is UMAP of distances that a network's outputs define, with
an inverse from the plane to the data. The package of that name on PyPI is another project, so the comparison uses a
reading of the paper: the square root of the Jensen-Shannon divergence between the outputs, summed over five parts of
the straight line between two samples, plus a share of the Euclidean distance, both scaled to a largest value of 1. (The
five parts, the scaling and the usual share of 0.65 are those of public code; we did not find them in the paper.) The
paper's inverse is a UMAP in the other direction. Here every map gets the same two inverses, so that the maps are
compared and not the inverses: means of near samples, which `ModelView` uses, and kernels (Schulz 2017, eq. 3.2).

The network (one hidden layer of 64 units) is trained on 800 digits. The map is fitted to 500 others, and judged on the
remaining 497: how often does the network say the same of a sample and of the point that the map shows in its place? Two
parts: the network learned the digits, or it memorised permuted labels. Means and standard deviations of three
splits. Seconds are those of the processor for the fit and the projection of the held-out samples, on one thread.
"""

from __future__ import annotations

import sys
import time
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from experiments.common import accuracy, run_peer, spread
from experiments.ledger import main
from prismap import PrisMap
from prismap.inspection._inverse import LocalSurface
from prismap.mappings import InverseMap
from prismap.metrics import FisherMetric

READING = """
On a network that learned the digits, both pictures are faithful. DeepView agrees with the network on 99.9 % of the
held-out samples with a small Euclidean share and on 98.9 % with its usual one, prismap on 99.1 % in a quarter of the
time. A map of the labels alone agrees less (96.6 %), and an unsupervised one still less (95.6 %).

A network that learned permuted labels has borders everywhere, and no two dimensions can show them all. prismap's
picture agrees on 56 % and DeepView's on 40 %. Maps that do not ask the network agree on 23 to 25 %, the commonest
answer on 10 %. A picture of such a network looks as orderly as the method makes it, so read the agreement before the
picture.

DeepView's distances are computed here without its batching on a graphics card, so its seconds are those of our
reading.
"""
UMAP = """
import umap
umap.UMAP(metric="precomputed", random_state=0, n_neighbors=5, n_epochs=20).fit(D[:50, :50])  # compiles
start = time.process_time()
plane = umap.UMAP(metric="precomputed", random_state=0, n_neighbors=30).fit(D)
out = {"Y": plane.embedding_, "Z": plane.transform(held), "seconds": np.array(time.process_time() - start)}
"""
PARTS_OF_A_LINE = 5


def network_distances(network, A, B):
    """sum_k sqrt(JS(f(p_k), f(p_k+1))) over the points p_k of the straight lines between samples of A and B."""
    total = np.zeros((len(A), len(B)))
    for i, a in enumerate(A):
        steps = np.linspace(0, 1, PARTS_OF_A_LINE + 1)[:, None, None]
        points = (a + steps * (B - a)).reshape(-1, A.shape[1])
        p = network.predict_proba(points).reshape(PARTS_OF_A_LINE + 1, len(B), -1)
        mean = (p[1:] + p[:-1]) / 2
        divergence = entropy(mean) - (entropy(p[1:]) + entropy(p[:-1])) / 2
        total[i] = np.sqrt(np.maximum(divergence, 0)).sum(axis=0)
    return total


def entropy(p):
    """-sum_c p_c log p_c, along the last axis."""
    return -(p * np.log(np.maximum(p, 1e-300))).sum(axis=-1)


def both_distances(network, X, held):
    """By the network and Euclidean, among the fitted samples and of the held-out ones to them; and the seconds."""
    start = time.process_time()
    parts = [(f(X, X), f(held, X)) for f in (partial(network_distances, network), cdist)]
    return parts, time.process_time() - start


def deepview(parts, seconds, share, peers):
    """Positions of the fitted and the held-out samples, and seconds."""
    weights = [(1 - share) / parts[0][0].max(), share / parts[1][0].max()]
    D, E = (sum(weight * part[k] for weight, part in zip(weights, parts, strict=True)) for k in range(2))
    out = run_peer(peers, UMAP, D=(D + D.T) / 2, held=E)
    return out["Y"], out["Z"], seconds + float(out["seconds"])


def prismap(X, held, target, **options):
    """The same by a `PrisMap`."""
    start = time.process_time()
    m = PrisMap(random_state=0, **options).fit(X, target)
    return m.embedding_, m.transform(held), time.process_time() - start


def network_on_maps(options, permuted):
    """One row per map."""
    figures = {}
    for split in range(1 if options.quick else 3):
        rng = np.random.default_rng(split)
        X, y = load_digits(return_X_y=True)
        order = rng.permutation(len(X))
        X, y = X[order] / 16, y[order]
        network = MLPClassifier((64,), max_iter=1000, random_state=split)
        network.fit(X[:800], rng.permutation(y[:800]) if permuted else y[:800])
        fitted, held = X[800:1300], X[1300:]
        said, said_held = network.predict(fitted), network.predict(held)
        metric = FisherMetric(posterior=network)
        maps = {
            "prismap, supervised by the network": partial(prismap, fitted, held, said, metric=metric),
            "prismap, supervised by the labels": partial(prismap, fitted, held, y[800:1300]),
            "prismap, unsupervised": partial(prismap, fitted, held, None),
        }
        if options.peers:
            distances = both_distances(network, fitted, held)
            for share in (0.65, 0.2):
                maps[f"DeepView, {share} Euclidean"] = partial(deepview, *distances, share, options.peers)
        for name, make in maps.items():
            Y, Z, seconds = make()
            ways_back = (LocalSurface(Y, fitted), InverseMap().fit(Y, fitted))
            row = [100 * float((network.predict(back.transform(Z)) == said_held).mean()) for back in ways_back]
            figures.setdefault(name, []).append([*row, accuracy(Z, said_held, Y, said), seconds])
        commonest = 100 * float((said_held == np.bincount(said).argmax()).mean())
        figures.setdefault("the commonest answer", []).append([commonest])
    names = ("agreement, near samples, %", "agreement, kernels, %", "1-NN accuracy of the answer, %", "seconds")
    for name, rows in figures.items():
        columns = zip(names, zip(*rows, strict=True), strict=False)
        yield {"map": name} | {column: spread(values) for column, values in columns}


PARTS = {
    "a network that learned": partial(network_on_maps, permuted=False),
    "a network that learned permuted labels": partial(network_on_maps, permuted=True),
}
WITHOUT_DATA = tuple(PARTS)

if __name__ == "__main__":
    main(sys.modules[__name__])
