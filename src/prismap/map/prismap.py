"""`PrisMap`: a metric, an embedding, a mapping and a verdict."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from prismap._random import as_generator, as_seed
from prismap._validation import check_dissimilarity, check_rows, check_similarity, encode_classes
from prismap.exceptions import InputError, PrismapWarning
from prismap.map.build import METHODS, Recipe, build, inverse_of
from prismap.map.drift import drift_of
from prismap.map.judge import judge
from prismap.map.lazy import drawn, is_lazy, is_stream, placed_later
from prismap.map.mapping import KERNEL_FITS, PLACEMENTS
from prismap.map.refit import extended, new_landmarks, target_of
from prismap.map.store import load_map, save_map
from prismap.metrics.models import bind_model
from prismap.metrics.support import shares
from prismap.metrics.symmetry import symmetrized
from prismap.metrics.target import known_targets, resolve_target


class PrisMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A 2-D map of rows that shows what matters for a target and does not invent it.

    Parameters
    ----------
    method : str or embedding
        "tsne", or another embedding by name ("nerv", "mds", "elastic", "isomap", "lle", "mvu", "som", "gtm") or as an
        object of `prismap.embeddings`.
    data : "vectors", "similarity" or "dissimilarity"
        What X is: rows of features, or a square matrix between rows.
    target : "auto", "class", "real" or "none"
        What y is. "auto" looks; "none" ignores it. Several real targets, a column each, count alike; pictures show the
        first.
    supervision : float in [0, 1]
        How much the target counts: 1 is the pure Fisher metric, 0 exactly the unsupervised map. The default leaves
        the Euclidean metric a share, so that structure inside a class survives.
    posterior : "auto", "parzen", "lssvm", "gp", a classifier, a regressor or `PredictedLabels`
        How the target's distribution is estimated; see `FisherMetric`.
    cross_fit : bool
        Whether no row is judged by its own label (and its fold's). Leave it on unless you need the published estimate.
    fit_rows : int
        At most so many rows, drawn with equal shares of the classes, are embedded; the others are placed on the map.
    metric : "fisher", a name scikit-learn knows, or a metric object
        The distances of the map. Another metric than Fisher's, a learnt `MixtureMetric` say, makes an unsupervised
        map: the target then only colours and judges it. Vectors only.
    mapping : "fisher", "euclidean", "svr", "cost", "elm", "direct", "vote", "own" or a map of `prismap.mappings`
        How new rows are placed: by a kernel map on Fisher distances (the map's own metric) or on the data's own
        distances; by the same with its coefficients from support vector regression or from the t-SNE cost, or with the
        extreme learning kernel; each where the t-SNE cost is lowest (`DirectPlacement`, slow); where most of its
        nearest fitted rows are (`VoteMap`); by the method itself ("som", "gtm"); or by an object.
    perplexity : float
        Effective number of neighbours.
    repair : "clip", "flip", "shift" or "none"
        What is done about negative eigenvalues of a similarity matrix.
    random_state : seed. The same seed gives the same map at any `n_jobs`.
    n_jobs : threads; None takes all cores.

    Attributes
    ----------
    embedding_ : (n_fit, 2), positions of the fitted rows.
    fit_rows_ : indices of the fitted rows among those given to `fit`.
    target_ : "class", "real" or "none".
    classes_ : the classes, with a class target.
    metric_ : the fitted metric, a `FisherMetric` unless another was given.
    times_ : seconds by stage.
    seed_ : the seed in force.

    Notes
    -----
    Fitting costs O(fit_rows^2) time and memory, placing is linear in the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> m = PrisMap(random_state=0).fit(X, y)
    >>> m.embedding_.shape, m.transform(X[:3]).shape
    ((150, 2), (3, 2))
    """

    _parameter_constraints = {
        "method": [StrOptions(set(METHODS)), BaseEstimator],
        "data": [StrOptions({"vectors", "similarity", "dissimilarity"})],
        "target": [StrOptions({"auto", "class", "real", "none"})],
        "supervision": [Interval(Real, 0, 1, closed="both")],
        "posterior": [str, BaseEstimator, HasMethods("predict")],
        "cross_fit": ["boolean"],
        "fit_rows": [Interval(Integral, 2, None, closed="left")],
        "metric": [str, HasMethods(["fit", "pairwise"])],
        "mapping": [StrOptions({*KERNEL_FITS, *PLACEMENTS, "own"}), HasMethods(["fit", "transform"])],
        "perplexity": [Interval(Real, 1, None, closed="left")],
        "repair": [StrOptions({"clip", "flip", "shift", "none"})],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self, method="tsne", *, data="vectors", target="auto", supervision=0.8, posterior="auto", cross_fit=True,
        fit_rows=5000, metric="fisher", mapping="fisher", perplexity=30, repair="clip", random_state=None, n_jobs=None,
    ):  # fmt: skip
        self.method = method
        self.data = data
        self.target = target
        self.supervision = supervision
        self.posterior = posterior
        self.cross_fit = cross_fit
        self.fit_rows = fit_rows
        self.metric = metric
        self.mapping = mapping
        self.perplexity = perplexity
        self.repair = repair
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None, *, callback=None):
        """Fit the map to rows X with target y.

        Unlabelled rows (-1 beside other codes, None, NaN) are mapped like all others. `callback` follows the
        embedding: ``callback(iteration, error, positions)``, True stops.

        Of a Dask array or data frame a sample of `fit_rows` rows is drawn in one pass, and the rest is not looked at
        again; `sampled_rows_` tells which.
        """
        self._validate_params()
        X, y, self.sampled_rows_ = drawn(X, y, self)
        rows = self._check_fit_rows(X)
        n_rows = rows.shape[0]
        self.target_, self._y = self._check_target(y, n_rows)
        codes = self._y if self.target_ == "class" else np.zeros(n_rows, dtype=np.intp)
        self.seed_ = as_seed(self.random_state)
        self.fit_rows_ = sample_rows(codes, self.fit_rows, as_generator(self.seed_))
        self._rows, self._entry_columns = rows, self.fit_rows_
        try:
            self._built = build(self._recipe(callback), self.fitted_rows(), self.fitted_target())
        except BaseException:  # Ctrl-C too: not fitted, rather than half of a former map and half of this one
            del self.seed_
            raise
        self._report, self._twins, self._inverse = None, None, None
        self._n_features_out = self.embedding_.shape[1]
        return self

    def _check_fit_rows(self, X):
        rows = check_rows(self, X, reset=True, sparse=self.data == "vectors", min_rows=2)
        if self.data != "vectors":
            rows = symmetrized(rows, self.data, stacklevel=3)
        if self.data == "similarity":
            check_similarity(rows)
        elif self.data == "dissimilarity":
            check_dissimilarity(rows)
        else:
            warn_of_constant_columns(rows, getattr(self, "feature_names_in_", None))
        return rows

    def _check_target(self, y, n_rows):
        if y is None or self.target == "none" or self.supervision == 0:
            return "none", None
        kind, values = resolve_target(y, n_rows, self.target)
        if kind == "class":
            self.classes_, values = encode_classes(values, n_rows)
        return kind, values

    def _recipe(self, callback=None):
        by_fisher = isinstance(self.metric, str) and self.metric == "fisher"
        return Recipe(
            method=self.method, data=self.data, target=self.target_ if by_fisher else "none",
            supervision=self.supervision, posterior=self._bound_posterior(), cross_fit=self.cross_fit,
            mapping=self.mapping, perplexity=self.perplexity, repair=self.repair, seed=self.seed_, n_jobs=self.n_jobs,
            callback=callback, metric=self.metric,
        )  # fmt: skip

    def _bound_posterior(self):
        """The posterior; a model is bound to the columns and classes, which the metric only knows by number."""
        if isinstance(self.posterior, str):
            return self.posterior
        columns = getattr(self, "feature_names_in_", None)
        return bind_model(self.posterior, columns, self.classes_ if self.target_ == "class" else None)

    def fitted_rows(self):
        """The rows that were embedded: vectors, or the square matrix between them."""
        part = self._rows[self.fit_rows_]
        return part if self.data == "vectors" else part[:, self.fit_rows_]

    def fitted_target(self):
        """The target of the rows that were embedded; None without one."""
        return None if self._y is None else self._y[self.fit_rows_]

    parts_ = property(lambda self: self._built, doc="Metric, positions and mapping: what is saved, judged and served.")
    rows_ = property(lambda self: self._rows, doc="The rows given to `fit`, as they were checked.")
    y_ = property(lambda self: self._y, doc="The target of these rows: class codes, real values, or None.")
    twins_ = property(lambda self: self._twins, doc="The maps that `report` compared this one with; None before.")
    embedding_ = property(lambda self: self._built.positions)
    metric_ = property(lambda self: self._built.metric if self._built.own is None else self._built.own)
    times_ = property(lambda self: self._built.times)

    def fit_transform(self, X, y=None):
        """Fit the map and return the positions of all rows: embedded where they were fitted, placed where not."""
        self.fit(X, y)
        return self.transform(X) if is_lazy(X) else self.positions()

    def positions(self):
        """Positions of all rows given to `fit`, in their order."""
        check_is_fitted(self, "seed_")
        Y = np.empty((self._rows.shape[0], self.embedding_.shape[1]))
        Y[self.fit_rows_] = self.embedding_
        others = np.setdiff1d(np.arange(len(Y)), self.fit_rows_)
        if len(others):
            Y[others] = self._built.place(self.entries(self._rows[others]))[0]
        return Y

    def shown_target(self):
        """The target that pictures are coloured by: of several the first; None without one."""
        return self._y[:, 0] if self._y is not None and self._y.ndim == 2 else self._y

    def known(self):
        """Which of the rows given to `fit` have a target."""
        check_is_fitted(self, "seed_")
        if self.target_ == "none":
            return np.zeros(self._rows.shape[0], dtype=bool)
        return known_targets(self._y)

    def transform(self, X):
        """Positions of rows X, each by itself: deterministic, in linear time.

        Matrix data: entries of the new rows against all rows given to `fit`. An iterator of batches gives an iterator
        of their positions; a Dask array or data frame gives a Dask array, and nothing is computed yet.
        """
        if is_lazy(X) or is_stream(X):
            check_is_fitted(self, "seed_")
            return placed_later(self, X)
        return self._place(X)[0]

    def place(self, X):
        """Positions of rows X and which of them are far from all fitted rows, in one pass."""
        Y, distance = self._place(X)
        return Y, distance > self._built.far_threshold

    def distance_to_data(self, X):
        """Distance of each row to the nearest fitted one, in units of the typical distance between fitted rows."""
        return self._place(X)[1]

    def is_far(self, X):
        """Which rows are farther from the data than 99 % of the fitted rows are from each other."""
        return self._place(X)[1] > self._built.far_threshold

    def drift(self, X):
        """Whether rows X are still what the map was made of: a `Drift`, whose words say if to refit."""
        check_is_fitted(self, "seed_")
        return drift_of(self, self.entries(check_rows(self, X, reset=False, sparse=self.data == "vectors")))

    def partial_refit(self, X, y=None, *, most=500):
        """Add at most `most` of the rows X that lie where the map has none; all that is on the map stays in place.

        `embedding_` gets their positions at its end, and `added_rows_` tells which they are. The metric is not learnt
        anew: y serves pictures and reports only (a Parzen posterior leaves these rows unlabelled). Vectors only.
        """
        check_is_fitted(self, "seed_")
        if self.data != "vectors":
            raise InputError("partial_refit needs data='vectors': distances between new rows are not known otherwise.")
        rows = check_rows(self, X, reset=False, sparse=True).astype(self._rows.dtype, copy=False)
        target = target_of(self, y, rows.shape[0])
        self.added_rows_ = added = new_landmarks(self._built, rows, most)
        if not len(added):
            return self
        rows, target = rows[added], None if target is None else target[added]
        self._built = extended(self._built, self.fitted_rows(), self.fitted_target(), rows, target)
        first = self._rows.shape[0]
        self._rows = sp.vstack([self._rows, rows], format="csr") if sp.issparse(rows) else np.vstack([self._rows, rows])
        self._y = None if target is None else np.concatenate([self._y, target])
        self.fit_rows_ = np.concatenate([self.fit_rows_, np.arange(first, first + len(added))])
        self._report, self._twins, self._inverse = None, None, None
        return self

    def _place(self, X):
        check_is_fitted(self, "seed_")
        rows = check_rows(self, X, reset=False, sparse=self.data == "vectors")
        return self._built.place(self.entries(rows))

    def entries(self, rows):
        """What the built map takes of given rows: vectors as they are, of matrix data the fitted columns."""
        return rows if self.data == "vectors" else rows[:, self._entry_columns]

    def inverse_transform(self, Y):
        """Rows for positions Y: a smooth 2-D surface through the fitted rows. Vectors only.

        SOM and GTM have a surface of their own, which a saved map does not keep; all others, and loaded maps, get an
        `InverseMap`, with classes the one that is weighted by the Fisher tensors (thesis eq. 3.3).
        """
        check_is_fitted(self, "seed_")
        if self.data != "vectors":
            raise InputError("inverse_transform needs data='vectors': matrix data has no rows to give back.")
        if hasattr(self._built.embedding, "inverse_transform") and self._built.embedding.codebook_ is not None:
            return self._built.embedding.inverse_transform(Y)
        if self._inverse is None:
            self._inverse = inverse_of(self._built, self.fitted_rows(), self.fitted_target())
        return self._inverse.transform(Y)

    def report(self, *, n_permutations=None, callback=None):
        """The `MapReport`: figures on rows that took no part in the fit, permuted-label twins, and the verdict.

        The first call refits the map a few times (without a target, with permuted ones, without the judged rows) and
        takes a few times as long as `fit`; later calls return the same report. `callback(done, all)` counts these maps.
        """
        check_is_fitted(self, "seed_")
        if self._report is None:
            self._report, self._twins = judge(self, n_permutations=n_permutations, callback=callback)
        return self._report

    def plot(self, ax=None, **options):
        """Draw the map with matplotlib and return the axes; options go to `MapDisplay.plot`."""
        from prismap.inspection.map import MapDisplay

        return MapDisplay.from_map(self).plot(ax=ax, **options).ax_

    def to_html(self, path, *, title="prismap", columns=None, images=None, row_ids=None, model=None):
        """Write the self-contained page: the map, its twins and the verdict. Judges the map if that is still to do.

        `model`: a trained classifier or regressor, whose decisions are shown behind the points.
        """
        from prismap.pages import write_page

        return write_page(self, path, model=model, title=title, columns=columns, images=images, row_ids=row_ids)

    def explore(self, **options):
        """The page as a notebook widget with a two-way `selection`; the static page where anywidget is missing."""
        from prismap.pages import show_page

        return show_page(self, **options)

    def save(self, path, *, extra_header=None):
        """Write the map to one file without pickle; `load` in a new process places rows alike."""
        check_is_fitted(self, "seed_")
        save_map(self, path, extra_header or {})

    @classmethod
    def load(cls, path):
        """Read a map that `save` wrote."""
        return load_map(cls, path)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.data == "vectors"
        tags.input_tags.pairwise = self.data != "vectors"
        tags.target_tags.required = False
        return tags


def sample_rows(codes, most, rng):
    """Sorted indices of at most `most` rows: all, or a draw with equal shares of the classes and the unlabelled."""
    if len(codes) <= most:
        return np.arange(len(codes))
    groups, members = np.unique(codes, return_inverse=True)
    wanted = shares(np.bincount(members), max(most, len(groups)))
    chosen = [rng.choice(np.flatnonzero(members == g), size, replace=False) for g, size in enumerate(wanted)]
    return np.sort(np.concatenate(chosen))


def warn_of_constant_columns(rows, names):
    """Constant columns carry nothing; they are kept, and said."""
    if sp.issparse(rows):
        return
    constant = np.flatnonzero(np.ptp(rows, axis=0) == 0)
    if len(constant):
        labels = [str(names[j]) if names is not None else f"column {j}" for j in constant]
        shown = ", ".join(labels[:8]) + (f" and {len(labels) - 8} more" if len(labels) > 8 else "")
        warnings.warn(
            f"{len(constant)} of {rows.shape[1]} columns are constant and carry no information (kept): {shown}.",
            PrismapWarning,
            stacklevel=4,
        )
