"""t-SNE on any metric: openTSNE optimises, our neighbours and affinities say what is near."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from openTSNE.tsne import kl_divergence_bh, kl_divergence_fft

from prismap._util.affinities import joint_affinities, lower_perplexity
from prismap._util.blocks import require_memory
from prismap._util.costs import tsne_cost
from prismap._util.params import Interval, StrOptions
from prismap._util.threads import n_threads
from prismap._util.validation import changed
from prismap.bundle._checkpoint import Checkpoint, fingerprint
from prismap.embeddings._base import Embedding, EmbeddingResult
from prismap.embeddings._descent import SORTED_ROWS, Descent, GradientDescent
from prismap.embeddings._mesh import STEP, MeshEngine
from prismap.embeddings._places import Places, coarse_layout, largest_affordable, neighbors_lost, sampled_rows
from prismap.embeddings._starts import Parcels, given_start, principal_start, rescale, spectral_start
from prismap.exceptions import InputError, PrismapWarning
from prismap.metrics import NamedMetric, VectorMetric
from prismap.neighbors import Neighbors, kneighbors

#: Up to here all pairs are visited, without approximation; from the second figure on all cores work by default.
EXACT_ROWS, MANY_ROWS = 300, 2_000


class TSNE(Embedding):
    """t-distributed stochastic neighbour embedding (t-SNE) on any metric.

    t-SNE places samples in the plane so that neighbours stay neighbours. It minimises ``KL(P || Q) = sum_ij p_ij
    log(p_ij / q_ij)``, where p_ij comes from Gaussians of the given perplexity in the data and q_ij from Student's t
    distribution in the embedding. With ``metric=FisherMetric()`` this is Fisher t-SNE.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    perplexity : float, default=30
        Effective number of neighbours. With too few samples it is lowered to (n - 1) / 3, with a warning.
    metric : str or metric object, default="euclidean"
        A name that scikit-learn knows, ``"precomputed"``, or an object such as `FisherMetric`.
    init : {"auto", "pca", "spectral", "random"} or array (n, n_components), default="auto"
        Positions at the start. "auto" is "pca" for vectors with the Euclidean metric, and "spectral" (from the
        affinities) for everything else. They are shrunk to a standard deviation of 1e-4, and a little noise separates
        duplicates. With an arrangement (see `descent`) it is the coarse layout that the descent starts from.
    max_iter : int, default=500
        Largest number of iterations after the ``max_iter // 2`` with early exaggeration, which come on top. Fewer are
        done if the embedding has settled.
    descent : GradientDescent, default=None
        Early exaggeration, learning rate, the tolerance at which the embedding has settled, the arrangement of groups,
        and a folder for checkpoints. None is ``GradientDescent()``.
    neighbors : {"auto", "exact", "partition", "vptree"} or (distances, indices), default="auto"
        How neighbours are searched, see `prismap.neighbors.kneighbors`. Up to 300 samples "auto" and "exact" take all
        samples for neighbours, and "partition" and "vptree" 3 * perplexity of them. Or the neighbours themselves, as
        that function returns them. No sample is its own neighbour.
    callback : callable, default=None
        ``callback(iteration, error, embedding)``, called every 50 iterations. Return True to stop and keep the
        positions. (Ctrl-C raises KeyboardInterrupt and keeps nothing.)
    random_state : int, Generator, RandomState instance or None, default=None
        Seed.
    n_jobs : int, default=None
        Number of threads. None is one below 2,000 samples and all cores above. The result does not depend on it.

    Attributes
    ----------
    embedding_ : array (n, n_components)
        Positions of the fitted samples.
    kl_divergence_, objective_ : float
        KL(P || Q) at the end. Above 300 samples the normalisation of Q is approximate.
    n_iter_ : int
        Number of iterations done, including those with exaggeration, of parcels too.
    stop_reason_ : {"converged", "max_iter", "callback"}
        Why the run ended.
    perplexity_ : float
        The perplexity used.
    metric_ : metric object
        The fitted metric.
    neighbors_ : str
        How the neighbours were found, and their recall, in words.
    repulsion_ : str
        How the repulsion was computed, in words.
    arrangement_ : float
        How strongly groups were pulled to a coarse layout of the metric (see `GradientDescent`).

    See Also
    --------
    PrisMap : t-SNE with the Fisher metric, a projection of new samples and a report.
    NeRV : Trades missed neighbours against false ones.
    prismap.mappings.KernelMap : Projects new samples onto the embedding.

    Notes
    -----
    Up to 300 samples all pairs are used without approximation. Above, each sample has 3 * perplexity neighbours, of
    which the nearest count that hold 98 % of its affinities, and the repulsion is approximated: in a plane on a mesh,
    by splines and Fourier transforms, on a line by interpolation on a grid, and in three dimensions by Barnes-Hut. Time
    is O(n) in each iteration besides the mesh, whose nodes grow with the area of the map, and memory O(n * perplexity),
    besides what the metric needs to find neighbours. In a plane, 1,000 samples or more go through the early
    exaggeration in parcels of four, but for its last 25 iterations. In more than three dimensions no approximation is
    available, and time is O(n^2).

    References
    ----------
    L. van der Maaten, G. Hinton (2008), Visualizing data using t-SNE. Schulz (2017), sec. 2.2.1. The grid: G. Linderman
    et al. (2019), Fast interpolation-based t-SNE for improved visualization of single-cell RNA-seq data. The mesh:
    U. Essmann et al. (1995), A smooth particle mesh Ewald method.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> TSNE(perplexity=20, max_iter=100, random_state=0).fit_transform(X).shape
    (150, 2)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "perplexity": [Interval(Real, 0, None, closed="neither")],
        "metric": [str, object],
        "init": [StrOptions({"auto", "pca", "spectral", "random"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "descent": [GradientDescent, None],
        "neighbors": [StrOptions({"auto", "exact", "partition", "vptree"}), tuple, list],
        "callback": [callable, None],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30,
        metric: Any = "euclidean",
        init: Any = "auto",
        max_iter: int = 500,
        descent: Any = None,
        neighbors: Any = "auto",
        callback: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.metric = metric
        self.init = init
        self.max_iter = max_iter
        self.descent = descent
        self.neighbors = neighbors
        self.callback = callback
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self):
        super()._check_parameters()
        if self.descent is not None:
            self.descent._validate_params()

    def _embed(self, metric: Any, n_rows: int, rng: np.random.Generator) -> Any:
        perplexity = lower_perplexity(self.perplexity, n_rows)
        engine = choose_engine(n_rows, self.n_components)
        if isinstance(self.neighbors, str):
            exact = engine is exact_engine and self.neighbors in ("auto", "exact")
            nearest = kneighbors(
                None, n_rows - 1 if exact else min(n_rows - 1, int(3 * perplexity)), metric=metric,
                method="exact" if exact else self.neighbors, random_state=rng, n_jobs=self.n_jobs,
            )  # fmt: skip
            words, (distances, indices) = repr(nearest), nearest
        else:
            words = repr(self.neighbors) if isinstance(self.neighbors, Neighbors) else "given"
            distances, indices = check_neighbors(self.neighbors, n_rows)
            perplexity = min(perplexity, indices.shape[1])
        together = n_rows >= SORTED_ROWS and isinstance(engine, MeshEngine)
        # The last two hundredths of a row's affinities are spread over a quarter of the entries or more. With few rows
        # surfaces hang together by them.
        P = joint_affinities(distances, indices, perplexity, 0.98 if together else 1.0)
        how = GradientDescent() if self.descent is None else self.descent
        exaggeration = 12.0 if how.early_exaggeration == "auto" else float(how.early_exaggeration)
        places = places_of(how.arrangement, metric, n_rows, rng, self)
        start = self._start(metric, P, rng) if places is None else places.start(P, rng)
        kept = None
        if how.checkpoint is not None:
            decides: tuple[Any, ...] = (exaggeration, self.max_iter, how.tol, how.learning_rate, self.n_components)
            decides += () if places is None else (places.strength, places.groups, places.positions)
            kept = Checkpoint(how.checkpoint, "descent", fingerprint(P, *decides))
        run = Descent(
            P, rescale(start, rng), engine=engine, n_jobs=self._n_threads(n_rows), kept=kept, places=places,
            rng=rng if together else None,
        ).run(
            exaggeration=exaggeration, max_iter=self.max_iter, tol=how.tol, learning_rate=how.learning_rate,
            callback=self.callback,
        )  # fmt: skip
        extra = {
            "kl_divergence_": run.kl_divergence, "perplexity_": perplexity, "neighbors_": words,
            "repulsion_": described_engine(engine, in_parcels=together),
            "arrangement_": 0.0 if places is None else places.strength,
        }  # fmt: skip
        return EmbeddingResult(run.embedding, run.kl_divergence, run.n_iter, run.stop_reason, extra)

    def _n_threads(self, n_rows):
        """Threads of the descent: small maps gain little from a second one, others take all cores by default."""
        return n_threads(self.n_jobs) if n_rows >= MANY_ROWS else effective_n_jobs(self.n_jobs)

    def _start(self, metric, P, rng):
        """Positions before rescaling."""
        if not isinstance(self.init, str):
            return given_start(self.init, P.shape[0], self.n_components)
        vectors = metric.rows_ if isinstance(metric, (NamedMetric, VectorMetric)) else None
        kind = self.init
        if kind == "auto":
            kind = "pca" if vectors is not None and self.metric == "euclidean" else "spectral"
        if kind == "pca":
            if vectors is None:
                raise InputError("init='pca' needs vectors, and this metric holds none. Use init='spectral'.")
            return principal_start(vectors, self.n_components, rng)
        if kind == "spectral":
            return spectral_start(P, self.n_components, rng)
        return rng.normal(size=(P.shape[0], self.n_components))


def places_of(wish, metric, n_rows, rng, tsne):
    """The places that an arrangement pulls to, by its strength or "auto"; None where nothing is pulled."""
    if isinstance(wish, Places):
        return wish if wish.strength > 0 else None
    if wish == "auto":
        rows = sampled_rows(n_rows, np.random.default_rng(0))
        D = np.asarray(metric.between(rows, rows), dtype=np.float64)
        wish = largest_affordable(lambda strength: neighbors_lost(D, arranged(tsne, D, strength)))[0]
    if wish == 0 or n_rows <= tsne.n_components:
        return None
    return coarse_layout(metric, n_rows, rng, strength=float(wish), n_components=tsne.n_components)


def arranged(tsne, D, arrangement):
    """Positions of rows with distances D by this t-SNE with another arrangement."""
    descent = GradientDescent() if tsne.descent is None else tsne.descent
    own = changed(descent, arrangement=arrangement, checkpoint=None)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0.0)
    plain = {"metric": "precomputed", "neighbors": "auto", "init": "auto", "callback": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)  # the map itself gives these warnings
        return changed(tsne, descent=own, **plain).fit_transform(D)


# --- the gradient -----------------------------------------------------------------------------------------------------


def choose_engine(n_rows, n_components):
    """The gradient for this size: all pairs, or on a line a grid, in a plane a mesh, in space a tree."""
    if n_rows <= EXACT_ROWS or n_components > 3:
        require_memory(
            40.0 * n_rows**2,
            f"t-SNE of {n_rows} rows in {n_components} dimensions, which visits all pairs,",
            "Use n_components of at most 3, or fewer rows.",
        )
        return exact_engine
    return {1: kl_divergence_fft, 2: MeshEngine(), 3: kl_divergence_bh}[n_components]


def exact_engine(embedding, P, should_eval_error=False, **_):
    """KL divergence and gradient over all pairs, in the form openTSNE's optimiser calls for.

    The optimiser's gradients lack the factor 4, which its learning rates take for granted. P is exaggerated where it
    asks for that, and the repulsion is not.
    """
    cost, gradient = tsne_cost(np.asarray(embedding), P.toarray(), want_cost=should_eval_error, repulsion=1.0)
    return cost, gradient / 4.0


def described_engine(engine, *, in_parcels):
    """How an engine computes the repulsion, in words."""
    if isinstance(engine, MeshEngine):
        begin = f", at first between parcels of {Parcels.usual_size} rows" if in_parcels else ""
        return f"a mesh with a step of {STEP:.2g}, by splines and Fourier transforms{begin}"
    return {exact_engine: "all pairs", kl_divergence_fft: "a grid of unit cells"}.get(
        engine, "Barnes-Hut with an angle of 0.5"
    )


def check_neighbors(neighbors, n_rows):
    """Ready-made neighbours: two arrays of shape (n, k), finite distances and indices of other rows."""
    if len(neighbors) != 2:
        raise InputError(f"neighbors must be the pair (distances, indices); got {len(neighbors)} items.")
    distances, indices = np.asarray(neighbors[0], dtype=np.float64), np.asarray(neighbors[1])
    if distances.ndim != 2 or distances.shape != indices.shape or len(indices) != n_rows or not indices.size:
        raise InputError(
            f"neighbors must be distances and indices of one shape (n_rows, k) with n_rows={n_rows}; "
            f"got {distances.shape} and {indices.shape}."
        )
    if indices.dtype.kind not in "iu" or indices.min() < 0 or indices.max() >= n_rows:
        raise InputError(f"the indices in neighbors must be whole numbers from 0 to {n_rows - 1}.")
    if (indices == np.arange(n_rows)[:, None]).any():
        raise InputError("a row in neighbors is its own neighbour; leave it out, as kneighbors(None, k) does.")
    if not np.isfinite(distances).all() or distances.min() < 0:
        raise InputError("the distances in neighbors must be finite and not negative.")
    return distances, indices
