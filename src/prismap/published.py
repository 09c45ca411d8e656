"""The published methods, one call each: functions that return estimators set up as the papers describe them.

The defaults of prismap are not those of the papers: metrics are cross-fitted, widths are cross-validated, several
starts are tried. The functions here undo that. What they return is an ordinary estimator, and its ``get_params`` says
what was set. The page of the papers in the documentation names the sections.

Published maps of a target are made in-sample: the density that judges a sample has seen its label, and they separate
permuted labels, too. Judge them before you believe them, with ``published.fisher_tsne().fit(X, y).report()``.

>>> from prismap import published
>>> published.kernel_discriminant()
KernelDiscriminant(alpha='baseline', cross_fit=False)
"""

from __future__ import annotations

from typing import Any

from prismap.embeddings import MVU, TSNE, ElasticMDS, KernelDiscriminant, KernelPCA, NeRV
from prismap.exceptions import InputError
from prismap.learners import GMLVQ, LMNN, RSLVQ
from prismap.map import PrisMap
from prismap.mappings import DirectPlacement, InverseMap, KernelMap, MapCost, ParametricMap
from prismap.metrics import AlternatingDescent, FisherMetric, GaussianProcess, MixtureMetric, Parzen, SimilarityMetric
from prismap.relevance import FeatureRelevance, RelevanceBounds
from prismap.transfer import Matching, SharedEmbedding

__all__ = [
    "algorithm_1", "algorithm_2", "barnes_hut_fisher_tsne", "direct_placement", "elastic_mds", "feature_relevance",
    "fisher_kernel_tsne", "fisher_metric", "fisher_tsne", "gmlvq", "graph_metric", "inverse_map",
    "kernel_discriminant", "kernel_isomap", "kernel_lle", "kernel_mapping", "kernel_mvu", "kernel_pca", "kernel_tsne",
    "lmnn", "mixture_metric", "nerv", "neuroscale", "parametric_tsne", "regression_metric", "relevance_bounds",
    "rslvq", "shared_embedding", "t_nerv",
]  # fmt: skip

# --- the Fisher metric ------------------------------------------------------------------------------------------------


def fisher_metric(*, data: Any = None, random_state: Any = None) -> FisherMetric:
    """The kernelised Fisher metric (Schulz, Brinkrolf and Hammer 2017, sec. 2, 3 and 5).

    Speeds at mirrored nodes of six sub-segments, which is T = 5 of eq. 10, of an in-sample Parzen density (eq. 4) whose
    support is chosen by the permuted baseline.

    Parameters
    ----------
    data : str or metric of the data, default=None
        None is a similarity matrix that is not repaired.
    random_state : int, RandomState instance or None, default=None
        Seed of the support.
    """
    return FisherMetric(
        data=SimilarityMetric(repair="none") if data is None else data,
        posterior=Parzen("baseline", bandwidth="published"), path="tangent", n_segments=6, cross_fit=False,
        perplexity=20, random_state=random_state,
    )  # fmt: skip


def graph_metric(*, random_state: Any = None) -> FisherMetric:
    """Shortest paths over a graph with edges d_T (Schulz 2017, sec. 2.3.3) of an in-sample Parzen density."""
    posterior = Parzen(bandwidth="matlab")
    return FisherMetric(
        posterior=posterior, path="tangent-graph", n_segments=5, cross_fit=False, random_state=random_state
    )


def regression_metric(*, random_state: Any = None) -> FisherMetric:
    """The Fisher metric of a real-valued target by a Gaussian process that saw it (Schulz 2017, sec. 2.6)."""
    return FisherMetric(
        "real", posterior=GaussianProcess(), path="tangent", n_segments=4, cross_fit=False, random_state=random_state
    )


# --- maps -------------------------------------------------------------------------------------------------------------


def fisher_tsne(*, data: Any = None, random_state: Any = None) -> PrisMap:
    """Fisher t-SNE (Schulz, Brinkrolf and Hammer 2017, sec. 5): t-SNE with perplexity 20 under `fisher_metric`.

    Parameters
    ----------
    data : str or metric of the data, default=None
        None is a similarity matrix that is not repaired; "vectors" are rows of features.
    random_state : int, RandomState instance or None, default=None
        Seed.
    """
    metric = fisher_metric(data=data)
    return PrisMap(
        "tsne", metric=metric, data=metric.data, supervision=1.0, perplexity=20, copies="none",
        random_state=random_state,
    )  # fmt: skip


def barnes_hut_fisher_tsne(*, data: Any = None, random_state: Any = None) -> TSNE:
    """Barnes-Hut Fisher t-SNE with neighbours by a vantage-point tree (Schulz, Brinkrolf and Hammer 2017, sec. 4)."""
    metric = fisher_metric(data=data, random_state=random_state)
    return TSNE(metric=metric, perplexity=20, neighbors="vptree", random_state=random_state)


def kernel_pca() -> KernelPCA:
    """Kernel principal components of a similarity matrix (Schulz, Brinkrolf and Hammer 2017, sec. 5)."""
    return KernelPCA(kernel="precomputed")


def kernel_discriminant() -> KernelDiscriminant:
    """The kernel discriminant, in-sample, its ridge by the permuted baseline (Schulz et al. 2017, sec. 5)."""
    return KernelDiscriminant(alpha="baseline", cross_fit=False)


def nerv(gamma: float = 0.5, *, random_state: Any = None) -> NeRV:
    """The neighbour retrieval visualiser (Schulz 2017, sec. 4.2.1, eq. 4.3)."""
    return NeRV(gamma=gamma, random_state=random_state)


def t_nerv(gamma: float = 0.5, *, random_state: Any = None) -> NeRV:
    """NeRV with Student's distribution in the map (Schulz 2017, sec. 4.2.1); with gamma = 1 it is t-SNE."""
    return NeRV(gamma=gamma, kernel="student", random_state=random_state)


def elastic_mds(*, random_state: Any = None) -> ElasticMDS:
    """Elastic scaling by scaled conjugate gradients from five random starts (Rice 2016, sec. 2 and 3)."""
    return ElasticMDS(solver="scg", init="random", n_init=5, random_state=random_state)


# --- maps with an out-of-sample projection ----------------------------------------------------------------------------


def kernel_tsne(*, random_state: Any = None) -> PrisMap:
    """Kernel t-SNE (Gisbrecht, Schulz and Hammer 2015, sec. 3, Algorithm 1): t-SNE, then kernels by least squares."""
    return kernel_map_of("tsne", random_state)


def kernel_isomap(*, random_state: Any = None) -> PrisMap:
    """Kernel Isomap (Gisbrecht, Schulz and Hammer 2015, sec. 3)."""
    return kernel_map_of("isomap", random_state)


def kernel_lle(*, random_state: Any = None) -> PrisMap:
    """Kernel LLE (Gisbrecht, Schulz and Hammer 2015, sec. 3)."""
    return kernel_map_of("lle", random_state)


def kernel_mvu(*, random_state: Any = None) -> PrisMap:
    """Kernel maximum variance unfolding (Gisbrecht, Schulz and Hammer 2015, sec. 3)."""
    return kernel_map_of(MVU(random_state=random_state), random_state)


def kernels_by_nearest() -> KernelMap:
    """The projection of kernel t-SNE (Gisbrecht, Schulz and Hammer 2015, sec. 3), on the data's own distances.

    Each kernel is a multiple of its sample's distance to the nearest one wide, and A = K^-1 Y.
    """
    return KernelMap(metric="data", bandwidth="representable", ridge=0.0)


def kernel_map_of(method: Any, random_state: Any) -> PrisMap:
    """An unsupervised embedding with the projection of kernel t-SNE."""
    return PrisMap(method, mapping=kernels_by_nearest(), target="none", copies="none", random_state=random_state)


def fisher_kernel_tsne(*, random_state: Any = None) -> PrisMap:
    """Fisher kernel t-SNE (Gisbrecht, Schulz and Hammer 2015, sec. 4, Algorithm 2).

    t-SNE under Fisher distances of an in-sample density, five left nodes (sec. 4.1), then kernels on Euclidean
    distances as in `kernel_tsne`. The root that the printed distance lacks is taken; ``path="tangent-squared"`` is the
    distance as it is printed.
    """
    metric = FisherMetric(posterior=Parzen(bandwidth="matlab"), path="tangent-left", n_segments=5, cross_fit=False)
    return PrisMap(
        "tsne", metric=metric, supervision=1.0, mapping=kernels_by_nearest(), copies="none",
        random_state=random_state,
    )  # fmt: skip


#: The algorithms by their numbers (Gisbrecht, Schulz and Hammer 2015).
algorithm_1, algorithm_2 = kernel_tsne, fisher_kernel_tsne


def kernel_mapping(kernel: str = "rbf", training: str = "itp") -> KernelMap:
    """The projections of Gisbrecht et al. (2012, sec. 3), fitted with ``fit(X, positions)``.

    Parameters
    ----------
    kernel : {"rbf", "elm"}, default="rbf"
        Gaussians as wide as the mean distance to the fifth neighbour (sec. 4), or the kernel of extreme learning.
    training : {"itp", "svm", "k"}, default="itp"
        Interpolation by the pseudo-inverse, support vector regression with the defaults of LIBSVM, or the cost of
        t-SNE.
    """
    solvers: dict[str, Any] = {"itp": "interpolate", "svm": "libsvm", "k": MapCost("tsne")}
    widths = {"rbf": "fifth", "elm": "raw"}
    for name, value, known in (("kernel", kernel, widths), ("training", training, solvers)):
        if value not in known:
            raise InputError(f"{name} must be one of {', '.join(map(repr, known))}; got {value!r}.")
    solver, bandwidth = solvers[training], widths[kernel]
    return KernelMap(kernel, solver=solver, normalize="origin", bandwidth=bandwidth, ridge=0.0)


def direct_placement() -> DirectPlacement:
    """Each new sample where the cost of t-SNE is lowest (Gisbrecht et al. 2012, sec. 2)."""
    return DirectPlacement("tsne")


def parametric_tsne(*, random_state: Any = None) -> ParametricMap:
    """Parametric t-SNE, the rival of Gisbrecht, Schulz and Hammer (2015, sec. 6.3): random weights, the cost alone.

    The network is smaller than the published one and not pre-trained.
    """
    return ParametricMap("network", cost="tsne", init="random", penalty=0.0, random_state=random_state)


def neuroscale(*, random_state: Any = None) -> ParametricMap:
    """NeuroScale with shadow targets (Rice 2016, sec. 2; Lowe and Tipping 1997): Gaussians, Sammon's stress."""
    return ParametricMap("rbf", cost="sammon", init="random", random_state=random_state)


# --- pictures of models, relevance, mixtures and transfer -------------------------------------------------------------


def inverse_map(metric: Any) -> InverseMap:
    """The inverse projection under a fitted Fisher metric (Schulz 2017, sec. 3.3, eq. 3.2 and 3.3).

    Eq. 3.3 has no Euclidean part. A ten-thousandth is left, so that directions without relevance have a solution.
    """
    return InverseMap(metric, bandwidth="all-representable", landmarks="subset", euclidean_share=1e-4)


def rslvq(n_prototypes: int = 1, *, random_state: Any = None) -> RSLVQ:
    """Robust soft learning vector quantisation without a penalty (Schulz 2017, sec. 3.5)."""
    return RSLVQ(n_prototypes, penalty=0.0, random_state=random_state)


def gmlvq(n_prototypes: int = 1, *, n_components: int | None = None, random_state: Any = None) -> GMLVQ:
    """Generalised matrix learning vector quantisation without noise (Schulz 2017, sec. 4.3.3)."""
    return GMLVQ(n_prototypes, n_components=n_components, noise=0.0, random_state=random_state)


def lmnn(n_neighbors: int = 3) -> LMNN:
    """Large margin nearest neighbours without noise (Schulz 2017, sec. 4.3.3)."""
    return LMNN(n_neighbors, noise=0.0)


def feature_relevance(method: str = "weights", n_neighbors: int = 10, *, penalty: float = 1.0) -> FeatureRelevance:
    """Which features a map shows (Schulz 2017): "forward" and "backward" (4.2.2), "weights" (4.2.3), "matrix" (4.2.4).

    gamma is 0.5 and delta (`penalty`) 1, and no permuted map is made for comparison.
    """
    return FeatureRelevance(method, n_neighbors=n_neighbors, penalty=penalty, gamma=0.5, n_permuted=0)


def relevance_bounds(effective_dim: int) -> RelevanceBounds:
    """Bounds of the relevance of features for a linear map (Schulz 2017, sec. 4.3.2) at a given effective dimension."""
    return RelevanceBounds(effective_dim, method="lp")


def mixture_metric(*, quick: bool = False, random_state: Any = None) -> MixtureMetric:
    """The mixture of fifteen dissimilarities (Rice 2016, sec. 2, Algorithm 1, and 3.5).

    Raw matrices with values below zero, weights from the largest eigenvalues, one start, scaled conjugate gradients
    with one step of the weights in each epoch. The Mahalanobis distance has no shrinkage in the paper; here the
    covariance is shrunk by 0.001, or it could not be inverted on images.

    Parameters
    ----------
    quick : bool, default=False
        3 epochs of 150 iterations, which the paper proposes for this start, in the place of 10 of 75.
    random_state : int, RandomState instance or None, default=None
        Seed.
    """
    n_epochs, max_iter = (3, 150) if quick else (10, 75)
    descent = AlternatingDescent(n_epochs=n_epochs, max_iter=max_iter, n_weight_iter=1, solver="scg")
    return MixtureMetric(
        scale=None, negative="keep", init="eigenvalues", n_init=1, descent=descent, random_state=random_state
    )


def shared_embedding(kind: str = "linear", *, random_state: Any = None) -> SharedEmbedding:
    """Transfer without correspondences (Schulz 2017): "linear" (sec. 5.2.1) or "kernel" (sec. 5.2.2).

    The likelihood of the source alone (eq. 5.3), with next to no samples that need no partner. How the search starts is
    ours.
    """
    return SharedEmbedding(kind, matching=Matching(mutual=0.0, outliers=1e-6), random_state=random_state)
