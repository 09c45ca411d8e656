"""SOM and GTM beside other implementations (minisom and ugtm, with `--peers`).

1,000 rows of digits in 10 principal components, and a 15 x 15 lattice. SOM: the mean distance of a row to its
prototype, and the share of rows whose two nearest prototypes are neighbours on the lattice. GTM: the mean distance of a
row to the nearest node of the sheet. Both: 1-NN error of the positions (in-sample).
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from experiments.common import accuracy, peer_has, run_peer, timed
from experiments.ledger import main
from prismap.embeddings import GTM, SOM

READING = """
The other implementations run with the settings above and with defaults otherwise. They were not tuned.
"""
SIDE = 15

MINISOM = """
from minisom import MiniSom
start = time.process_time()
som = MiniSom(side, side, X.shape[1], sigma=side / 2, learning_rate=0.5, random_seed=0)
som.pca_weights_init(X); som.train_batch(X, 40 * len(X))
out = {"codebook": som.get_weights().reshape(side * side, -1), "seconds": np.array(time.process_time() - start)}
"""
UGTM = """
import ugtm
start = time.process_time()
gtm = ugtm.runGTM(X, k=int(side), m=int(side) // 2, s=1.0, regul=0.1, niter=200)
out = {"codebook": gtm.matY.T, "Y": gtm.matMeans, "seconds": np.array(time.process_time() - start)}
"""


def digits(options):
    """One row a model."""
    X, y = load_digits(return_X_y=True)
    X = PCA(10, random_state=0).fit_transform(X[:1000])
    y, nodes = y[:1000], np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij"), axis=-1).reshape(-1, 2)
    som, seconds = timed(lambda: SOM((SIDE, SIDE), random_state=0).fit(X))
    yield figures("SOM, prismap", X, y, som.codebook_, som.nodes_, som.embedding_, seconds)
    gtm, seconds = timed(lambda: GTM((SIDE, SIDE), random_state=0).fit(X))
    yield figures("GTM, prismap", X, y, gtm.codebook_, gtm.nodes_ * (SIDE - 1) / 2, gtm.embedding_, seconds)
    if peer_has(options.peers, "minisom"):
        out = run_peer(options.peers, MINISOM, X=X, side=SIDE)
        winners = nearest(X, out["codebook"])[:, 0]
        yield figures("SOM, minisom", X, y, out["codebook"], nodes, nodes[winners], float(out["seconds"]))
    else:
        yield {"model": "SOM, minisom: not installed"}
    if peer_has(options.peers, "ugtm"):
        out = run_peer(options.peers, UGTM, X=X, side=SIDE)
        codebook = out["codebook"] if out["codebook"].shape[1] == X.shape[1] else out["codebook"].T
        yield figures("GTM, ugtm", X, y, codebook, nodes, out["Y"], float(out["seconds"]))
    else:
        yield {"model": "GTM, ugtm: not installed"}


def nearest(X, codebook):
    """Nodes from near to far."""
    return np.argsort(((X[:, None] - codebook[None]) ** 2).sum(axis=2), axis=1)


def figures(name, X, y, codebook, nodes, Y, seconds):
    """The figures of one model."""
    first, second = nearest(X, codebook)[:, :2].T
    return {
        "model": name, "distance to the nearest node": float(np.linalg.norm(X - codebook[first], axis=1).mean()),
        "next node adjacent, %": 100 * float((np.abs(nodes[first] - nodes[second]).max(axis=1) <= 1.01).mean()),
        "1-NN error, %": 100 - accuracy(Y, y), "seconds": seconds,
    }  # fmt: skip


PARTS = {"digits": digits}
WITHOUT_DATA = ("digits",)

if __name__ == "__main__":
    main(sys.modules[__name__])
