"""`SharedEmbedding`: two data sets from different spaces in one map, without correspondences."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.validation import check_is_fitted

from prismap._util.affinities import lower_perplexity
from prismap._util.arrays import Numbers, Rows
from prismap._util.params import Interval, StrOptions
from prismap._util.random import as_generator, as_seed
from prismap._util.threads import on_one_thread
from prismap._util.validation import check_rows
from prismap.embeddings import TSNE
from prismap.exceptions import InputError, PrismapWarning
from prismap.mappings import KernelMap
from prismap.metrics import FisherMetric
from prismap.target._labels import check_target_length, encode_classes
from prismap.transfer._matching import Matching, Model, expect, responsibility_blocks
from prismap.transfer._search import (
    DIFFERENT,
    EQUAL,
    SIZE,
    Search,
    Start,
    agreement,
    kernel_family,
    linear_family,
    spread_of,
    standard_error,
)

#: Below this agreement, or above this distortion, a warning says that the clouds do not fit.
POOR_AGREEMENT, POOR_DISTORTION = 0.4, 0.35
#: Weight of all known pairs together, as a share of the source rows.
PAIRS_SHARE = 0.5
#: Probability that a target row's class differs from its source partner's although both are known.
WRONG_CLASS = 0.05
#: Kernels, at most, of the map that places new source rows: its bandwidth is sought with systems of so many equations.
MOST_LANDMARKS = 1_000


class SharedEmbedding(BaseEstimator):
    """One embedding of two tables that have neither samples nor columns in common.

    The source is embedded first. The target follows by a projection f of its own, fitted so that both clouds look like
    draws from one distribution. Gaussians around the f(z_j) explain the source, and Gaussians around the source explain
    the f(z_j). Expectation maximisation fits them, with a width that falls step by step. A classifier trained on the
    source then works on the target.

    Without known pairs a match can be wrong and look right, because clouds may be mirrored and clusters exchanged.
    Several starts are tried. They are judged by the likelihood and by how well the match preserves the distances within
    both tables. If a different match is as good, a warning says so and `ambiguous_` is True.

    Parameters
    ----------
    kind : {"linear", "kernel"}, default="linear"
        The target's projection: f(z) = W z + b, or a normalised kernel map that the t-SNE cost holds together.
    source : {"auto", "pca", "lda", "tsne", "fisher"}, estimator or array (n, n_components), default="auto"
        How the source is embedded. "fisher" is t-SNE with the Fisher metric. It and "lda" need labels. "auto" is "pca"
        for linear and "tsne" for kernel projections. An array holds ready-made positions.
    n_components : int, default=2
        Dimension of the embedding.
    n_init : int, default=12
        Number of starts of either kind: rotated axes, and couplings of the two tables by their distances.
    matching : Matching, default=None
        What counts as a good match: the widths of the Gaussians, the weight of the target's likelihood, and the share
        of samples that need no partner. None is ``Matching()``.
    regularization : float or "auto", default="auto"
        Ridge of the linear projection (auto: 0.001), or weight of the t-SNE cost of the kernel one (auto: 0.02).
    n_landmarks : int, default=200
        Largest number of kernels of the kernel projection.
    perplexity : float, default=30
        Perplexity of t-SNE on either side.
    random_state : int, Generator, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    source_positions_, target_positions_ : arrays (n, n_components) and (m, n_components)
        Positions of both tables.
    coefficients_ : array
        The W of the target's projection.
    mixing_weights_ : array (m,)
        The theta_j.
    sigma_ : float
        The last width.
    log_likelihood_ : float
        Mean log-likelihood of the source samples plus, times `mutual`, of the target samples.
    distortion_ : float
        How much the match changes distances within the tables, relative to their mean.
    agreement_ : float
        How mixed the two clouds are: 1 like draws from one distribution, 0 apart.
    ambiguous_ : bool
        Whether a different match is as good.
    starts_ : list of `Start`
        All matches that were compared to the end, best first.

    See Also
    --------
    prismap.inspection.TransferDisplay : A picture of both tables.

    Notes
    -----
    `fit` takes two tables, which is not scikit-learn's ``fit(X, y)``, so `check_estimator` cannot run. Cloning,
    parameters, column checks and unchanged input follow its rules. A step takes O(n m) time.

    References
    ----------
    P. Bloebaum, A. Schulz, B. Hammer (2015), Unsupervised dimensionality reduction for transfer learning. Schulz
    (2017), chapter 5.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(40, 3)) * [3, 2, 1]
    >>> Z = X @ [[1.0, 0, 2, 0], [0, 1, 0, 1], [1, 0, 0, 1]]
    >>> SharedEmbedding(random_state=0).fit(X, Z).target_positions_.shape
    (40, 2)
    """

    _parameter_constraints: dict[str, Any] = {
        "kind": [StrOptions({"linear", "kernel"})],
        "source": [StrOptions({"auto", "pca", "lda", "tsne", "fisher"}), "array-like", object],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "matching": [Matching, None],
        "regularization": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "n_landmarks": [Interval(Integral, 2, None, closed="left")],
        "perplexity": [Interval(Real, 1, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self, kind: str = "linear", *, source: Any = "auto", n_components: int = 2, n_init: int = 12,
        matching: Matching | None = None, regularization: Any = "auto", n_landmarks: int = 200, perplexity: float = 30,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.source = source
        self.n_components = n_components
        self.n_init = n_init
        self.matching = matching
        self.regularization = regularization
        self.n_landmarks = n_landmarks
        self.perplexity = perplexity
        self.random_state = random_state

    @on_one_thread
    def fit(self, X: Any, Z: Any = None, y: Any = None, *, pairs: Any = None, y_target: Any = None) -> Self:
        """Match the target rows Z to the source rows X.

        Parameters
        ----------
        X : (n, d) source rows.
        Z : (m, e) target rows, in a space of their own.
        y : (n,) labels of the source, for source="lda" and "fisher" and beside `y_target`; None, NaN or -1: unknown.
        pairs : (p, 2) indices of source and target rows known to belong together; soft, together half as heavy as
            all source rows.
        y_target : (m,) labels of some target rows (None, NaN or -1: unknown); soft as well.
        """
        self._validate_params()
        matching = Matching() if self.matching is None else self.matching
        matching.check()
        rng = as_generator(self.random_state)
        X = np.asarray(check_rows(self, X, reset=True, min_rows=3), dtype=np.float64)
        Z = self._check_target(Z, reset=True)
        if not np.ptp(X, axis=0).any():
            raise InputError("X_source: all rows are equal, so there is nothing to match a target to.")
        y = None if y is None else check_target_length(y, len(X))
        source = {"linear": "pca", "kernel": "tsne"}[self.kind] if _is(self.source, "auto") else self.source
        Y, self.source_map_ = embed_source(
            source, X, y, n_components=self.n_components, perplexity=self.perplexity, rng=rng
        )
        self.source_positions_, spread = Y, spread_of(Y)
        if not spread > 0:
            raise InputError("source: all positions are equal, so there is nothing to match a target to.")
        self.sigma_ = float(matching.sigma[1] * spread)
        self.model_ = match_model(matching, Y, y, pairs, y_target, len(Z))
        self.family_, first = self._family(Z, spread, rng)
        sigmas = spread * np.geomspace(matching.sigma[0], matching.sigma[1], SIZE.widths)
        search = Search(X, Z, self.model_, self.family_, sigmas=sigmas, spread=spread, rng=rng)
        self.starts_ = search.run(search.starts(first, self.n_init))
        self._keep(self.starts_[0])
        return self

    def _keep(self, best: Start) -> None:
        """Fitted attributes from the best match, and warnings about it."""
        self.coefficients_, self.mixing_weights_, self.target_positions_ = best.coefficients, best.theta, best.positions
        self.log_likelihood_, self.distortion_ = best.log_likelihood, best.distortion
        self.agreement_ = agreement(self.source_positions_, self.target_positions_)
        rivals = [other for other in self.starts_[1:] if self._is_rival(best, other)]
        self.ambiguous_ = bool(rivals)
        if rivals:
            warnings.warn(
                f"Ambiguous match: another one, target rows {rivals[0].displacement:.1f} spreads away, has the "
                f"score {rivals[0].score:.3f} against {best.score:.3f}. Compare starts_, or pass a few known pairs or "
                "target labels to fit.",
                PrismapWarning,
                stacklevel=3,
            )
        if self.agreement_ < POOR_AGREEMENT or self.distortion_ > POOR_DISTORTION:
            warnings.warn(
                f"Poor match: agreement_={self.agreement_:.2f} (1 is perfect), distortion_={self.distortion_:.2f} (0 "
                "is perfect). The target may have other clusters than the source; look at both before using it.",
                PrismapWarning,
                stacklevel=3,
            )

    def _is_rival(self, best: Start, other: Start) -> bool:
        """Whether another match is different and, within the noise of the rows, as good."""
        q = best.positions.shape[1]
        first, second = (expect(self.model_, one.positions, one.theta, self.sigma_) for one in (best, other))
        target_gain = self.model_.mutual * (first.target_log - second.target_log)
        gains = (first.source_log - second.source_log, target_gain)
        noise = standard_error(gains, q, min(len(gains[0]), len(gains[1]), SIZE.structure_rows))
        return bool(other.displacement > DIFFERENT and best.score - other.score < EQUAL * noise)

    def transform_source(self, X: Any) -> Numbers:
        """Positions of source rows."""
        check_is_fitted(self, "coefficients_")
        X = np.asarray(check_rows(self, X, reset=False), dtype=np.float64)
        return np.asarray(self.source_map_.transform(X), dtype=np.float64)

    def transform_target(self, Z: Any) -> Numbers:
        """Positions of target rows, each by itself."""
        check_is_fitted(self, "coefficients_")
        return np.asarray(self.family_.design(self._check_target(Z, reset=False)) @ self.coefficients_)

    def score(self, X: Any, Z: Any = None) -> float:
        """Mean log-likelihood of source rows plus, times `mutual`, of target rows Z (None: the fitted ones)."""
        check_is_fitted(self, "coefficients_")
        F = self.target_positions_ if Z is None else self.transform_target(Z)
        theta = self.mixing_weights_ if Z is None else np.full(len(F), 1.0 / len(F))
        model = replace(self.model_, source=self.transform_source(X), pairs=None, codes=None)
        step = expect(model, F, theta, self.sigma_)
        return float(step.source_log.mean() + self.model_.mutual * step.target_log.mean())

    def responsibilities(self) -> Iterator[tuple[slice, Numbers]]:
        """``(rows, gamma)`` block by block over the source rows: gamma[i, j] is the probability that target row j is
        the partner of source row i; a row sums to one less the probability of having none (eq. 5.4)."""
        check_is_fitted(self, "coefficients_")
        return responsibility_blocks(self.model_, self.target_positions_, self.mixing_weights_, self.sigma_)

    def _check_target(self, Z: Any, *, reset: bool) -> Numbers:
        if Z is None:
            raise InputError("fit needs two tables: fit(X_source, Z_target, y_source=None); Z_target is missing.")
        if reset:
            self.target_columns_ = TargetRows()
        try:
            Z = np.asarray(check_rows(self.target_columns_, Z, reset=reset, min_rows=3 if reset else 1), dtype=float)
        except InputError as error:
            raise InputError(f"Z_target: {error}") from error
        if reset and not np.ptp(Z, axis=0).any():
            raise InputError("Z_target: all rows are equal, so there is nothing to place.")
        return np.asarray(Z)

    def _family(self, Z: Numbers, spread: float, rng: np.random.Generator) -> Any:
        common: dict[str, Any] = {"n_init": self.n_init, "spread": spread, "rng": rng}
        if self.kind == "linear":
            if len(Z) <= Z.shape[1]:
                warnings.warn(
                    f"Z_target has {len(Z)} rows and {Z.shape[1]} columns: a linear map could put every row anywhere, "
                    "and only the ridge holds it. Reduce the columns first, for instance with PCA.",
                    PrismapWarning,
                    stacklevel=3,
                )
            ridge = 1e-3 if _is(self.regularization, "auto") else self.regularization
            return linear_family(Z, self.model_, ridge=ridge, **common)
        strength = 0.02 if _is(self.regularization, "auto") else self.regularization
        return kernel_family(
            Z, self.model_, strength=strength, n_landmarks=self.n_landmarks, perplexity=self.perplexity, **common
        )


class TargetRows(BaseEstimator):
    """Remembers the columns of the target, as scikit-learn does for the source on the estimator itself."""


def match_model(matching: Matching, Y: Numbers, y: Any, pairs: Any, y_target: Any, n_target: int) -> Model:
    """The model of source positions Y, with what is known of pairs and classes."""
    volume = float(np.log(1.2 * np.ptp(Y, axis=0) + 1e-9).sum())
    model = Model(Y, matching.outliers, volume, matching.mutual)
    if pairs is not None:
        pairs = check_pairs(pairs, len(Y), n_target)
        model = replace(model, pairs=pairs, pair_weight=PAIRS_SHARE * len(Y) / len(pairs))
    if y_target is not None:
        codes, emission = known_classes(y, y_target, len(Y), n_target)
        model = replace(model, codes=codes, emission=emission)
    return model


def _is(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word


def check_pairs(pairs: Any, n_source: int, n_target: int) -> Rows:
    """Known pairs (p, 2): indices of a source row and a target row each."""
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu" or not len(pairs):
        raise InputError(f"pairs must be whole numbers of shape (p, 2), source row and target row; got {pairs.shape}.")
    if pairs.min() < 0 or pairs[:, 0].max() >= n_source or pairs[:, 1].max() >= n_target:
        raise InputError(f"pairs name rows outside of the {n_source} source rows and {n_target} target rows.")
    return np.asarray(pairs)


def known_classes(y: Any, y_target: Any, n_source: int, n_target: int) -> tuple[Any, Any]:
    """Codes of the classes on both sides (the last code: unknown) and how probable a class is at each class."""
    if y is None:
        raise InputError("y_target needs the labels of the source too: fit(X_source, Z_target, y_source, ...).")
    y_target = check_target_length(y_target, n_target)
    both = [*check_target_length(y, n_source).tolist(), *y_target.tolist()]
    classes, codes = encode_classes(np.array(both, dtype=object), n_source + n_target)
    c = len(classes)
    codes = np.where(codes < 0, c, codes)
    emission = np.full((c + 1, c + 1), 1.0 / c)
    emission[:c, :c] = WRONG_CLASS / (c - 1)
    emission[np.arange(c), np.arange(c)] = 1 - WRONG_CLASS
    return (codes[:n_source], codes[n_source:]), emission


# --- positions of the source ------------------------------------------------------------------------------------------


def embed_source(
    source: Any, X: Numbers, y: Any, *, n_components: int, perplexity: float, rng: np.random.Generator
) -> tuple[Numbers, Any]:
    """``(positions, map)`` of the source rows X; the map has ``transform`` for new rows.

    Where the embedding has none of its own (t-SNE, given positions), a `KernelMap` learns it from the positions.
    """
    if not isinstance(source, str):
        return _given_positions(source, X, rng) if not hasattr(source, "fit") else _given_estimator(source, X, y, rng)
    if source in ("lda", "fisher") and y is None:
        raise InputError(f"source={source!r} needs the labels of the source: fit(X_source, Z_target, y_source).")
    if source in ("pca", "lda"):
        return _linear(source, X, y, n_components, rng)
    metric = "euclidean"
    if source == "fisher":
        metric = FisherMetric(perplexity=lower_perplexity(perplexity, len(X)), random_state=as_seed(rng))
    embedding = TSNE(n_components, perplexity=perplexity, metric=metric, random_state=as_seed(rng))
    Y = embedding.fit_transform(X, y)
    return Y, _learnt_map(X, Y, rng, embedding.metric_ if source == "fisher" else "euclidean")


def _linear(source: Any, X: Numbers, y: Any, n_components: int, rng: np.random.Generator) -> tuple[Numbers, Any]:
    most = min(X.shape[1], len(X) - 1)
    if source == "lda":
        classes, codes = encode_classes(y, len(X))
        labelled, y = X[codes >= 0], codes[codes >= 0]
        most = min(X.shape[1], len(classes) - 1)
    if n_components > most:
        raise InputError(
            f"n_components={n_components} is more than source={source!r} can give here ({most}); lower it."
        )
    if source == "lda":
        model = LinearDiscriminantAnalysis(n_components=n_components).fit(labelled, y)
    else:
        model = PCA(n_components, random_state=as_seed(rng)).fit(X)
    return np.asarray(model.transform(X), dtype=np.float64), model


def _given_positions(source: Any, X: Numbers, rng: np.random.Generator) -> tuple[Numbers, Any]:
    Y = np.asarray(source, dtype=np.float64)
    if Y.ndim != 2 or len(Y) != len(X) or not np.isfinite(Y).all():
        raise InputError(
            f"source, if an array, must hold one finite position per source row, shape ({len(X)}, n_components); got "
            f"shape {Y.shape}."
        )
    return Y, _learnt_map(X, Y, rng)


def _given_estimator(source: Any, X: Numbers, y: Any, rng: np.random.Generator) -> tuple[Numbers, Any]:
    model = clone(source)
    if hasattr(model, "transform"):
        model.fit(X, y)
        return np.asarray(model.transform(X), dtype=np.float64), model
    Y = np.asarray(model.fit_transform(X, y), dtype=np.float64)
    return Y, _learnt_map(X, Y, rng)


def _learnt_map(X: Numbers, Y: Numbers, rng: np.random.Generator, metric: Any = "euclidean") -> Any:
    n_landmarks = MOST_LANDMARKS if len(X) > MOST_LANDMARKS else None
    return KernelMap(metric=metric, n_landmarks=n_landmarks, random_state=as_seed(rng)).fit(X, Y)
