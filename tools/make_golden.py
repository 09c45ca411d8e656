"""Write the golden maps of the running version into tests/golden/VERSION/: files that later versions must read.

A released version's folder is never written again: ``python tools/make_golden.py 0.1``.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from prismap import PrisMap
from prismap.metrics import FisherMetric

FOLDER = Path(__file__).parent.parent / "tests" / "golden"
#: So few rows would be mapped without their target by default, and a file would hold no posterior and no kernels.
SUPERVISED = {"supervision": 0.8, "mapping": "fisher"}


def three_clusters(n_rows=60, n_columns=4, seed=0):
    """Rows of three Gaussian clusters, their classes, and a smooth real target."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n_rows) % 3
    X = rng.normal(size=(n_rows, n_columns)) + 3.0 * np.eye(3, n_columns)[codes]
    return X.round(6), np.array(["ash", "elm", "oak"])[codes], X[:, 0] + 0.1 * X[:, 1]


def cases():
    """Name, parameters, rows, target and new rows of each golden map."""
    X, y, number = three_clusters()
    new = three_clusters(n_rows=20, seed=1)[0]
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
    D_new = np.sqrt(((new[:, None] - X[None]) ** 2).sum(-1))
    thin, thin_new = (sp.csr_array(np.where(np.abs(rows) > 1, rows, 0)) for rows in (X, new))
    yield "default", {"supervision": "auto", "mapping": "auto"}, X, y, new
    yield "supervised", {}, X, y, new
    yield "parzen", {"metric": FisherMetric(posterior="parzen", perplexity=10), "supervision": 1.0}, X, y, new
    yield "machine", {"metric": FisherMetric(posterior="lssvm", perplexity=10)}, X, y, new
    yield "trees", {"metric": FisherMetric(posterior="trees", perplexity=10)}, X, y, new
    yield "unsupervised", {"target": "none"}, X, None, new
    yield "real", {"target": "real"}, X, number, new
    yield "similarity", {"data": "similarity"}, X @ X.T, y, new @ X.T
    yield "dissimilarity", {"data": "dissimilarity"}, D, y, D_new
    yield "sparse", {}, thin, y, thin_new
    yield "single", {}, X.astype(np.float32), y, new.astype(np.float32)
    yield "votes", {"mapping": "vote"}, X, y, new
    yield "direct", {"mapping": "direct"}, X, y, new
    yield "elm", {"mapping": "elm"}, X, y, new
    yield "cost", {"mapping": "cost"}, X, y, new
    yield "euclidean", {"mapping": "euclidean"}, X, y, new
    yield "mds", {"method": "mds"}, X, y, new
    yield "gtm", {"method": "gtm"}, X, y, new
    yield "manhattan", {"metric": "manhattan"}, X, y, new
    yield "sampled", {"fit_rows": 40}, X, y, new
    yield "published", {"metric": FisherMetric(cross_fit=False, posterior="parzen", perplexity=10)}, X, y, new


def main(version, folder=FOLDER):
    """Fit and write all of them, with what they say of the new rows."""
    folder = Path(folder) / version
    folder.mkdir(parents=True)
    warnings.simplefilter("ignore")
    for name, options, X, y, new in cases():
        model = PrisMap(random_state=0, perplexity=10, **SUPERVISED | options).fit(X, y)
        model.save(folder / f"{name}.prismap")
        Y, far = model.place(new)
        rows = {"rows": new} if not sp.issparse(new) else {"rows": new.toarray(), "sparse": True}
        np.savez_compressed(folder / f"{name}.npz", **rows, positions=Y, far=far)


if __name__ == "__main__":
    main(sys.argv[1])
