"""The methods of the league, each in a process of its own: `PYTHON league_methods.py NAME IN OUT`.

Python is ours or, for the packages of others, that of `--peers`, which knows nothing of prismap: nothing but numpy is
imported before it is needed. IN has the jobs as arrays (`X0`, `y0`, `new0`, `X1`, ...), OUT gets the positions of the
fitted rows (`Y0`) and, if the method places new rows, of those (`Z0`), the seconds of the processor and the megabytes
that the process had at most (`seconds0`, `memory0`), or the reason why there is no map (`failed0`).
"""

from __future__ import annotations

import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

#: How new rows are placed, and the only method that is told which rows belong together.
OWN, READING, NONE = "own", "own reading", "has none"
UNITS_TOLD = "prismap, units told"
#: Trees of RF-PHATE's authors, the share of steps along the proximities, and steps of CEBRA (10,000 by default).
N_TREES, ALONG, CEBRA_STEPS = 500, 0.9, 1000


class Job(NamedTuple):
    """Rows to be mapped with their classes, new rows, and which fitted rows belong together, where that is told."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    units: np.ndarray | None = None


class Method(NamedTuple):
    """How a map is made; whether it is given labels; how new rows are placed; whether others' packages are needed."""

    make: Callable[[Job], tuple]
    labels: bool = False
    placing: str = OWN
    peers: bool = False


# --- prismap ----------------------------------------------------------------------------------------------------------


def prismap(job, **params):
    """As it comes, or with parameters."""
    from prismap import PrisMap

    fit = {} if job.units is None else {"groups": job.units}
    model = PrisMap(random_state=0, **params).fit(job.X, job.y, **fit)
    return model.embedding_, model.transform(job.new)


def prismap_max(job):
    """The sharpest cross-fitted map."""
    return prismap(job, supervision="max")


def prismap_published(job):
    """Fisher t-SNE with a Parzen posterior that saw the rows it judges, and kernels that take new rows along."""
    from prismap.metrics import FisherMetric

    return prismap(
        job, metric=FisherMetric("class", posterior="parzen", cross_fit=False), supervision=1, mapping="fisher"
    )


# --- scikit-learn -----------------------------------------------------------------------------------------------------


def features(job):
    """No map: the features themselves."""
    return job.X, job.new


def pca(job):
    """Two principal components."""
    from sklearn.decomposition import PCA

    return by_transform(PCA(2, random_state=0), job)


def lda(job):
    """The first two linear discriminants; with two classes there is one."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    model = LinearDiscriminantAnalysis().fit(job.X, job.y)
    return tuple(two_columns(model.transform(rows)) for rows in (job.X, job.new))


def pls(job):
    """Two components of partial least squares of the indicators of the classes."""
    from sklearn.cross_decomposition import PLSRegression

    model = PLSRegression(min(2, job.X.shape[1])).fit(job.X, np.eye(job.y.max() + 1)[job.y])
    return tuple(two_columns(model.transform(rows)) for rows in (job.X, job.new))


def nca(job):
    """Neighbourhood components."""
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    return by_transform(NeighborhoodComponentsAnalysis(2, random_state=0), job, job.y)


def network(job):
    """Own reading of a supervised network: a perceptron whose last hidden layer, the map, has two units."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    scale = StandardScaler().fit(job.X)
    model = MLPClassifier((64, 2), activation="tanh", max_iter=300, random_state=0).fit(scale.transform(job.X), job.y)

    def hidden(rows):
        values = scale.transform(rows)
        for weights, offsets in zip(model.coefs_[:2], model.intercepts_[:2], strict=True):
            values = np.tanh(values @ weights + offsets)
        return values

    return hidden(job.X), hidden(job.new)


# --- neighbours -------------------------------------------------------------------------------------------------------


def tsne(job):
    """openTSNE."""
    import openTSNE

    fitted = openTSNE.TSNE(perplexity=min(30, (len(job.X) - 1) // 3), random_state=0).fit(job.X)
    return np.asarray(fitted), np.asarray(fitted.transform(job.new))


def umap(job, y=None):
    """UMAP without labels."""
    from umap import UMAP

    return by_transform(UMAP(random_state=0), job, y)


def supervised_umap(job):
    """UMAP with labels, as its documentation has it."""
    return umap(job, job.y)


def pacmap(job, name="PaCMAP"):
    """PaCMAP, or LocalMAP of the same package; new rows by `transform` with the fitted ones as basis."""
    import pacmap

    model = getattr(pacmap, name)(random_state=0)
    return model.fit_transform(job.X), model.transform(job.new, basis=job.X)


def localmap(job):
    """PaCMAP whose last phase looks at neighbours on the map."""
    return pacmap(job, "LocalMAP")


def trimap(job):
    """TriMap, which is seeded by numpy and places no new rows."""
    from trimap import TRIMAP

    np.random.seed(0)  # noqa: NPY002
    return TRIMAP(verbose=False).fit_transform(job.X), None


def phate(job):
    """PHATE; new rows by its interpolation."""
    from phate import PHATE

    model = PHATE(random_state=0, n_jobs=1, verbose=0).fit(job.X)
    return np.asarray(model.transform()), np.asarray(model.transform(job.new))


def infotsne(job):
    """InfoTSNE of TorchDR, which places no new rows."""
    import torch
    from torchdr import InfoTSNE

    torch.manual_seed(0)
    model = InfoTSNE(perplexity=min(30, (len(job.X) - 1) // 3), random_state=0)
    return np.asarray(model.fit_transform(job.X.astype(np.float32))), None


def contrastive(job):
    """Negative t-SNE of contrastive-ne, whose positions are free: it places no new rows."""
    import cne
    import torch

    torch.manual_seed(0)
    model = cne.CNE(loss_mode="neg", seed=0, data_on_gpu=False, device="cpu")
    return np.asarray(model.fit_transform(job.X.astype(np.float32))), None


def cebra(job):
    """CEBRA with classes, two columns of which lie on a circle; 1,000 steps."""
    import torch
    from cebra import CEBRA

    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    model = CEBRA(output_dimension=2, batch_size=512, max_iterations=CEBRA_STEPS, device="cpu", verbose=False)
    model.fit(job.X.astype(np.float32), job.y.astype(np.int64))
    return tuple(np.asarray(model.transform(rows.astype(np.float32))) for rows in (job.X, job.new))


# --- forests ----------------------------------------------------------------------------------------------------------


def rf_gap(job):
    """RF-GAP proximities of the fitted rows, made symmetric, and of new rows to them, whose rows sum to 1.

    J. Rhodes, A. Cutler, K. Moon, *Geometry- and accuracy-preserving random forest proximities* (2023).
    """
    from forestgeom import Proximity
    from sklearn.ensemble import RandomForestClassifier

    gap = Proximity(RandomForestClassifier(N_TREES, random_state=0), weight_scheme="gap").fit(job.X, job.y)
    K = gap.training_proximity(force_symmetric=True, adjust_diagonal=True, return_dense=True).astype(np.float64)
    return (K + K.T) / 2, gap.transform(job.new, return_dense=True).astype(np.float64)


def nearby(proximities, Y, k=10):
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


def rf_phate(job):
    """PHATE of RF-GAP proximities, a tenth of whose steps goes anywhere, as in the paper; new rows by proximities."""
    import phate

    class Jumping(phate.PHATE):
        """Random walks that now and then go anywhere."""

        @property
        def diff_op(self):
            steps = phate.PHATE.diff_op.fget(self)
            steps = steps.toarray() if hasattr(steps, "toarray") else np.asarray(steps)
            return ALONG * steps + (1 - ALONG) / len(steps)

    K, of_new = rf_gap(job)
    Y = Jumping(knn_dist="precomputed_affinity", random_state=0, n_jobs=1, verbose=0).fit_transform(K)
    return Y, nearby(of_new, Y)


def rf_tsne(job):
    """t-SNE of the same proximities as distances; new rows by proximities."""
    from sklearn.manifold import TSNE

    K, of_new = rf_gap(job)
    D = np.sqrt(np.maximum(1 - K / K.max(), 0))
    np.fill_diagonal(D, 0)
    perplexity = min(30, (len(D) - 1) // 3)
    Y = TSNE(metric="precomputed", init="random", perplexity=perplexity, random_state=0).fit_transform(D)
    return Y, nearby(of_new, Y)


# --- all of them ------------------------------------------------------------------------------------------------------


def by_transform(model, job, *target):
    """Positions by a fit and by `transform`."""
    Y = model.fit_transform(job.X, *target)
    return Y, model.transform(job.new)


def two_columns(Z):
    """The first two columns; a single one with a column of zeros."""
    return np.pad(Z[:, :2], ((0, 0), (0, max(0, 2 - Z.shape[1]))))


#: Those of the pilot first, so that a table of them is complete early.
METHODS = {
    "no map": Method(features), "prismap": Method(prismap, labels=True), "PCA": Method(pca),
    "t-SNE": Method(tsne), "UMAP": Method(umap, peers=True),
    "supervised UMAP": Method(supervised_umap, labels=True, peers=True), "PaCMAP": Method(pacmap, peers=True),
    "RF-PHATE": Method(rf_phate, labels=True, placing=READING, peers=True),
    "prismap, max": Method(prismap_max, labels=True), "prismap, as published": Method(prismap_published, labels=True),
    "LDA": Method(lda, labels=True), "PLS": Method(pls, labels=True), "NCA": Method(nca, labels=True),
    "network (own reading)": Method(network, labels=True), "LocalMAP": Method(localmap, peers=True),
    "TriMap": Method(trimap, placing=NONE, peers=True), "PHATE": Method(phate, peers=True),
    "RF-t-SNE (own reading)": Method(rf_tsne, labels=True, placing=READING, peers=True),
    "CEBRA": Method(cebra, labels=True, peers=True),
    "InfoTSNE (TorchDR)": Method(infotsne, placing=NONE, peers=True),
    "Neg-t-SNE (contrastive-ne)": Method(contrastive, placing=NONE, peers=True),
    UNITS_TOLD: Method(prismap, labels=True),
}  # fmt: skip


def results_of(method, jobs):
    """What OUT gets, after a small map that nothing is measured of: some packages compile when they are first used."""
    rng = np.random.default_rng(0)
    attempt(method, Job(rng.normal(size=(60, 4)), np.arange(60) % 3, rng.normal(size=(5, 4))))
    out = {}
    for k, job in enumerate(jobs):
        start = time.process_time()
        made = attempt(method, job)
        out[f"seconds{k}"] = time.process_time() - start
        out[f"memory{k}"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        out |= {f"{name}{k}": value for name, value in made.items()}
    return out


def attempt(method, job):
    """Positions, or why there are none."""
    try:
        Y, Z = method.make(job)
    except Exception as error:  # a method of others may fail in any way, which is an answer
        return {"failed": f"{type(error).__name__}: {str(error).strip()[:120]}"}
    for rows in (Y, Z):
        if rows is not None and not np.isfinite(rows).all():
            return {"failed": "positions that are not finite"}
    return {"Y": np.asarray(Y)} | ({} if Z is None else {"Z": np.asarray(Z)})


def jobs_in(path):
    """The jobs of a file."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    k = 0
    while f"X{k}" in arrays:
        yield Job(*(arrays.get(f"{name}{k}") for name in ("X", "y", "new", "units")))
        k += 1


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    name, source, destination = sys.argv[1:]
    np.savez(destination, **results_of(METHODS[name], list(jobs_in(source))))
