"""Methods of other libraries, by their interface: what `judge` may rely on, and no more."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA


class LikeUMAP(BaseEstimator):
    """UMAP's interface: `fit_transform(X, y=None)`, `transform`, `embedding_`, `random_state`; honest without a target.

    `pull` moves every fitted row towards a place of its class: with a large one, labels that mean nothing are shown.
    """

    def __init__(self, n_neighbors=15, pull=0.0, random_state=None):
        self.n_neighbors = n_neighbors
        self.pull = pull
        self.random_state = random_state

    def fit(self, X, y=None):
        assert len(X) > 5
        self.pca_ = PCA(2).fit(X)
        Y = self.pca_.transform(X)
        Y = Y + 1e-3 * np.random.default_rng(self.random_state).normal(size=Y.shape)
        if y is not None and self.pull:
            places = 10 * np.random.default_rng(0).normal(size=(int(np.max(y)) + 1, 2))
            Y = (1 - self.pull) * Y + self.pull * places[y]
        self.embedding_ = Y
        return self

    def fit_transform(self, X, y=None):
        return self.fit(X, y).embedding_

    def transform(self, X):
        return self.pca_.transform(X)


class LikePaCMAP:
    """PaCMAP's interface: the second argument is no target, there is no `get_params`, and `transform` may fail."""

    def fit_transform(self, X, init=None, save_pairs=True):
        assert init is None
        return PCA(2).fit_transform(X)

    def transform(self, X, basis=None):
        raise ValueError("basis is needed")


class LikeOpenTSNE(BaseEstimator):
    """openTSNE's interface: `fit` returns an array that projects."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X):
        return Projecting(PCA(2).fit_transform(X), PCA(2).fit(X))


class Projecting(np.ndarray):
    def __new__(cls, Y, pca):
        self = np.asarray(Y).view(cls)
        self.pca = pca
        return self

    def transform(self, X):
        return self.pca.transform(X)
