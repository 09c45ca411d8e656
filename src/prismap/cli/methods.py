"""The methods that `prismap compare` offers and the league measures: an object with `fit_transform` for each name.

Nothing is imported before a method is made. Methods that no package has as such an object are `Reading`s, our own ways
to make them of what there is.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Method(NamedTuple):
    """How a method is made from a seed; whether it is given the target, and needs classes; which packages it needs."""

    make: Callable[[int], Any]
    supervised: bool = False
    needs_classes: bool = False
    modules: tuple[str, ...] = ()
    install: str = ""


def of_package(module: str, name: str, *sizes: int, seed: str | None = "random_state", **params: Any) -> Any:
    """How an estimator of a package is made from a seed."""

    def make(value: int) -> Any:
        seeds = {} if seed is None else {seed: value}
        return getattr(import_module(module), name)(*sizes, **seeds, **params)

    return make


def of_pacmap(name: str) -> Any:
    """How an estimator of pacmap is made; it logs a warning whenever it is given a seed, which is no news here."""
    make = of_package("pacmap", name)

    def quietly(value: int) -> Any:
        logging.getLogger("pacmap.pacmap").addFilter(is_about_more_than_the_seed)
        return make(value)

    return quietly


def is_about_more_than_the_seed(record: logging.LogRecord) -> bool:
    """Whether a record says more than that there is a seed."""
    return "random state is set to" not in record.getMessage()


class Reading:
    """What our own readings share: a seed that can be set, as scikit-learn's objects have it."""

    def __init__(self, random_state: int = 0):
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The seed."""
        return {"random_state": self.random_state}

    def set_params(self, **params: Any) -> Reading:
        """Set the seed."""
        self.random_state = params.get("random_state", self.random_state)
        return self


# --- scikit-learn -----------------------------------------------------------------------------------------------------


class LDA(Reading):
    """The first two linear discriminants; with two classes there is one, and a column of zeros."""

    def fit_transform(self, X: Array, y: Array) -> Array:
        """Positions."""
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        self.model = LinearDiscriminantAnalysis().fit(X, y)
        return self.transform(X)

    def transform(self, X: Array) -> Array:
        """Positions of any rows."""
        return two_columns(self.model.transform(X))


class NCA(Reading):
    """Two neighbourhood components, of which degenerate rows may have one."""

    def fit_transform(self, X: Array, y: Array) -> Array:
        """Positions."""
        from sklearn.neighbors import NeighborhoodComponentsAnalysis

        self.model = NeighborhoodComponentsAnalysis(2, random_state=self.random_state).fit(X, y)
        return self.transform(X)

    def transform(self, X: Array) -> Array:
        """Positions of any rows."""
        return two_columns(self.model.transform(X))


class PLS(Reading):
    """Two components of partial least squares of the indicators of the classes."""

    def fit_transform(self, X: Array, y: Array) -> Array:
        """Positions."""
        from sklearn.cross_decomposition import PLSRegression

        classes = np.unique(y)
        self.model = PLSRegression(min(2, X.shape[1])).fit(X, (y[:, None] == classes).astype(float))
        return self.transform(X)

    def transform(self, X: Array) -> Array:
        """Positions of any rows."""
        return two_columns(self.model.transform(X))


def two_columns(Z: Any) -> Array:
    """The first two columns; beside a single one, zeros, so that maps of other rows have as many."""
    Z = np.asarray(Z)[:, :2]
    return np.pad(Z, ((0, 0), (0, 2 - Z.shape[1])))


class Network(Reading):
    """A perceptron that tells the classes; its last hidden layer, the map, has two units."""

    def fit_transform(self, X: Array, y: Array) -> Array:
        """Positions after at most 300 rounds, whether these suffice or not."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPClassifier
        from sklearn.preprocessing import StandardScaler

        self.scale = StandardScaler().fit(X)
        layers = MLPClassifier((64, 2), activation="tanh", max_iter=300, random_state=self.random_state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            layers.fit(self.scale.transform(X), y)
        self.weights = list(zip(layers.coefs_[:2], layers.intercepts_[:2], strict=True))
        return self.transform(X)

    def transform(self, X: Array) -> Array:
        """Positions of any rows."""
        values = self.scale.transform(X)
        for weights, offsets in self.weights:
            values = np.tanh(values @ weights + offsets)
        return np.asarray(values)


# --- forests ----------------------------------------------------------------------------------------------------------


class ForestMap(Reading):
    """A map of RF-GAP proximities, as the package forestgeom has them, of 500 trees as in the paper on RF-PHATE.

    J. Rhodes, A. Cutler, K. Moon, *Geometry- and accuracy-preserving random forest proximities* (2023).
    """

    def fit_transform(self, X: Array, y: Array) -> Array:
        """Positions of proximities that were made symmetric."""
        from forestgeom import Proximity  # type: ignore[import-not-found, unused-ignore]
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(500, random_state=self.random_state)
        self.gap = Proximity(forest, weight_scheme="gap").fit(X, y)
        K = self.gap.training_proximity(force_symmetric=True, adjust_diagonal=True, return_dense=True)
        K = np.asarray(K, dtype=np.float64)
        self.positions = self.map_of((K + K.T) / 2)
        return self.positions

    def map_of(self, K: Array) -> Array:
        """Positions of proximities."""
        raise NotImplementedError

    def transform(self, X: Array) -> Array:
        """New rows lie where the most central of their ten most proximate fitted rows lies: our own reading."""
        return nearby(np.asarray(self.gap.transform(X, return_dense=True), dtype=np.float64), self.positions)


def nearby(proximities: Array, Y: Array, k: int = 10) -> Array:
    """New rows at the most central of their k most proximate fitted rows, by distances on the map.

    The mean of all positions by proximities, as PHATE interpolates, leaves a new row between the classes: on digits it
    tells some twenty points fewer right.
    """
    placed = np.empty((len(proximities), Y.shape[1]))
    for row, weights in enumerate(proximities):
        near = np.argsort(-weights, kind="stable")[:k]
        apart = np.linalg.norm(Y[near][:, None] - Y[near], axis=2)
        placed[row] = Y[near[np.argmin(apart @ weights[near])]]
    return placed


class RFPHATE(ForestMap):
    """PHATE of the proximities, a tenth of whose steps goes anywhere.

    J. Rhodes, A. Aumon, S. Morin et al., *Gaining biological insights through supervised data visualization* (2024).
    """

    def map_of(self, K: Array) -> Array:
        """Positions of proximities."""
        import phate  # type: ignore[import-not-found, unused-ignore]

        class Jumping(phate.PHATE):  # type: ignore[misc, unused-ignore]
            """Random walks that now and then go anywhere."""

            @property
            def diff_op(self) -> Array:
                steps = phate.PHATE.diff_op.fget(self)
                steps = steps.toarray() if hasattr(steps, "toarray") else np.asarray(steps)
                return 0.9 * steps + 0.1 / len(steps)

        model = Jumping(knn_dist="precomputed_affinity", random_state=self.random_state, n_jobs=1, verbose=0)
        return np.asarray(model.fit_transform(K))


class RFTSNE(ForestMap):
    """t-SNE of the proximities as distances."""

    def map_of(self, K: Array) -> Array:
        """Positions of proximities."""
        from sklearn.manifold import TSNE

        D = np.sqrt(np.maximum(1 - K / K.max(), 0))
        np.fill_diagonal(D, 0)
        model = TSNE(metric="precomputed", init="random", perplexity=usual(D), random_state=self.random_state)
        return np.asarray(model.fit_transform(D))


def usual(X: Array) -> float:
    """The usual perplexity, or what so few rows allow."""
    return min(30.0, (len(X) - 1) / 3)


# --- packages that seed torch -----------------------------------------------------------------------------------------


class TorchMap(Reading):
    """A map of float32 rows, made with torch's seed."""

    def seeded(self) -> None:
        """Set the seeds that these packages look at."""
        import torch  # type: ignore[import-not-found, unused-ignore]

        torch.manual_seed(self.random_state)
        np.random.seed(self.random_state)  # noqa: NPY002


class InfoTSNE(TorchMap):
    """InfoTSNE of TorchDR."""

    def fit_transform(self, X: Array) -> Array:
        """Positions."""
        from torchdr import InfoTSNE as Model  # type: ignore[import-not-found, unused-ignore]

        self.seeded()
        self.fitted = X.astype(np.float32)
        self.model = Model(perplexity=usual(X), random_state=self.random_state)
        return np.asarray(self.model.fit_transform(self.fitted))

    def transform(self, X: Array) -> Array:
        """Positions of new rows, among the fitted ones."""
        return np.asarray(self.model.transform(X.astype(np.float32), X_train=self.fitted))


class NegTSNE(TorchMap):
    """Negative t-SNE of contrastive-ne, whose positions are free: it places no new rows."""

    def fit_transform(self, X: Array) -> Array:
        """Positions."""
        import cne  # type: ignore[import-not-found, unused-ignore]

        self.seeded()
        model = cne.CNE(loss_mode="neg", seed=self.random_state, data_on_gpu=False, device="cpu")
        with redirect_stdout(StringIO()):  # it prints the loss of its epochs
            return np.asarray(model.fit_transform(X.astype(np.float32)))


class CEBRA(TorchMap):
    """CEBRA with classes, two columns of which lie on a circle; 1,000 steps instead of 10,000."""

    def fit_transform(self, X: Array, y: Array) -> Array:
        """Positions."""
        from cebra import CEBRA as Model  # type: ignore[import-not-found, unused-ignore]

        self.seeded()
        self.model = Model(output_dimension=2, batch_size=512, max_iterations=1000, device="cpu", verbose=False)
        self.model.fit(X.astype(np.float32), np.unique(y, return_inverse=True)[1].astype(np.int64))
        return self.transform(X)

    def transform(self, X: Array) -> Array:
        """Positions of any rows."""
        return np.asarray(self.model.transform(X.astype(np.float32)))


# --- all of them ------------------------------------------------------------------------------------------------------


def labelled(make: Any, *modules: str, install: str = "") -> Method:
    """A method that is given classes, and needs them."""
    return Method(make, supervised=True, needs_classes=True, modules=modules, install=install)


def of_umap(*, supervised: bool) -> Method:
    """UMAP with a seed has one job whatever is asked for, and warns where it is not asked for one."""
    make = of_package("umap", "UMAP", n_jobs=1)
    return Method(make, supervised, modules=("umap",), install="pip install 'prismap[umap]'")


METHODS = {
    "prismap": Method(of_package("prismap.map", "PrisMap"), supervised=True),
    "tsne": Method(of_package("openTSNE", "TSNE")),
    "pca": Method(of_package("sklearn.decomposition", "PCA", 2)),
    "lda": labelled(LDA),
    "nca": labelled(NCA),
    "pls": labelled(PLS),
    "network": labelled(Network),
    "umap": of_umap(supervised=False),
    "supervised-umap": of_umap(supervised=True),
    "pacmap": Method(of_pacmap("PaCMAP"), modules=("pacmap",), install="pip install pacmap"),
    "localmap": Method(of_pacmap("LocalMAP"), modules=("pacmap",), install="pip install pacmap"),
    "trimap": Method(
        of_package("trimap", "TRIMAP", seed=None, verbose=False), modules=("trimap",), install="pip install trimap"
    ),
    "phate": Method(of_package("phate", "PHATE", n_jobs=1, verbose=0), modules=("phate",), install="pip install phate"),
    "rf-phate": labelled(RFPHATE, "forestgeom", "phate", install="pip install forestgeom phate"),
    "rf-tsne": labelled(RFTSNE, "forestgeom", install="pip install forestgeom"),
    "cebra": labelled(CEBRA, "cebra", install="pip install cebra"),
    "infotsne": Method(InfoTSNE, modules=("torchdr",), install="pip install torchdr"),
    "negtsne": Method(NegTSNE, modules=("cne",), install="pip install contrastive-ne"),
}
