"""`PrisMap`: a metric, an embedding, a mapping and a verdict."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from prismap._util.arrays import Numbers
from prismap._util.missing import require_complete
from prismap._util.params import Interval, StrOptions
from prismap._util.progress import Progress
from prismap._util.random import as_seed
from prismap.exceptions import InputError
from prismap.judging._judge import Judgement, judge_subject
from prismap.judging._refits import FORECAST
from prismap.map._drift import Drift, drift_of
from prismap.map._fitted import like_rows
from prismap.map._fitting import fit_sample
from prismap.map._given import levels_of, read_given
from prismap.map._judged import subject_of, trust_at, trust_in_given
from prismap.map._lazy import is_lazy, is_stream, placed_later
from prismap.map._methods import MAPPINGS, METHODS
from prismap.map._predictions import held_out_score
from prismap.map._recipe import Recipe
from prismap.map._refit import extended, new_landmarks
from prismap.map._repairs import with_repairs
from prismap.map._store import read_map, save_map
from prismap.map._tables import encoded, fit_table, names_in, positions_frame, story_of_cells, target_in, unit_roles
from prismap.map._time_budget import time_asked
from prismap.mappings._base import Mapping
from prismap.metrics import Metric
from prismap.metrics._geometry import DATA, DESCRIBED, DataMetric, data_metric
from prismap.quality import MapReport, Trust
from prismap.tables import NAMES, Roles
from prismap.target import COPIES, encode_like


def of_map(path: str, doc: str) -> property:
    """A property that hands out a part of the fitted map."""

    def read(self: Any) -> Any:
        part = self.map_
        for name in path.split("."):
            part = getattr(part, name)
        return part

    return property(read, doc=doc)


class PrisMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A 2-D map of samples that shows what matters for a target and does not invent it.

    A map consists of a metric, an embedding, a projection of new samples and a verdict. By default it is t-SNE under
    the Fisher metric: directions in which the distribution of the target does not change shrink, and others grow. The
    metric is cross-fitted, so no sample is judged by its own label. Without a target the map is an unsupervised one.

    Parameters
    ----------
    method : str or embedding object, default="tsne"
        The embedding: "tsne", "nerv", "mds", "elastic", "isomap", "lle", "mvu", "som", "gtm", "kpca" (kernel PCA) or
        "kda" (kernel discriminant, for classes), or an object of `prismap.embeddings`.
    metric : "fisher", str or metric object, default="fisher"
        The distances of the map. ``FisherMetric(posterior=..., cross_fit=...)`` sets how the distribution of the target
        is estimated. Parameters that both classes have (target, data, supervision, perplexity, random_state) are taken
        from here. Any other metric, by a name of scikit-learn or as an object, makes an unsupervised map of vectors,
        and the target only colours and judges it.
    mapping : str or mapping object, default="auto"
        The out-of-sample projection. "fisher": a kernel map on the distances of the map. "euclidean": the same on the
        data's own distances. "svr" and "cost": its coefficients from support vector regression or from the cost of the
        embedding ("tsne", "nerv", "mds", "elastic"). "elm": the extreme learning kernel. "vote": where most of the
        nearest fitted samples are. "direct": where the cost of the embedding is lowest (slow), and the closed forms of
        "isomap", "lle" and "mvu". "parametric": a small network trained by the cost of the embedding. "own": by the
        method itself ("som", "gtm", "kpca", "kda"). "auto": "fisher" or "vote", whichever does better on fitted samples
        that are left out; without a target, and above 5,000 fitted samples, "vote". Or an object of `prismap.mappings`.
    supervision : float, "auto" or "max", default="auto"
        How much the target counts, from 0 (the unsupervised map) to 1 (the pure Fisher metric, as published). "auto"
        takes the smallest share (0, 0.8, 0.95 or 0.99) that predicts the target as well as the best one on quick maps,
        judged out of fold, and 0 if nothing is known of the target beyond chance. Any share below 1 keeps some of the
        data's own distances, so that structure inside a class survives. "max" is the sharpest cross-fitted map: 0.99 of
        the best posterior's metric. Trees are among the posteriors for both. With your own model as posterior, "auto"
        is 0.8.
    target : {"auto", "class", "ordered", "real", "none"} or list of these, default="auto"
        What y is. "auto" decides by its values, "none" ignores it. "ordered" are classes with an order, given as
        numbers or as an ordered pandas category. y may have several columns, of one kind or with a kind each, for
        example labels that occur together, or classes from coarse to fine. Each counts by how well it is predicted out
        of fold, and pictures show the first. (Several quantities without any classes have equal weight.)
    data : {"vectors", "cosine", "similarity", "dissimilarity"}, `Objects` or metric, default="vectors"
        What X is: samples by features, or a square matrix between samples. "cosine": vectors of which only the
        direction counts, such as embeddings of texts or images; each is scaled to length 1. ``Objects(compare)`` of
        `prismap.comparisons`: any list of objects, which are compared when that is needed.
        ``SimilarityMetric(repair=...)`` sets what is done about negative eigenvalues of a similarity matrix.
    fit_rows : int or str, default=5000
        At most so many samples, drawn with equal shares of the classes, are embedded. The others are projected. A time
        such as "90 s", "10 min" or "2 h" embeds as many as this machine fits in about that time, as a few trial fits
        show. The map then depends on the speed of the machine, and `notes_` has the number that gives the same map
        anywhere.
    perplexity : float, default=30
        Effective number of neighbours.
    copies : {"auto", "exact", "none"}, default="auto"
        Samples that are copies of each other are not independent: they are learnt and judged as one. "auto" takes near
        copies for copies, too, "exact" does not, and "none" takes all samples as independent.
    random_state : int, RandomState instance or None, default=None
        Seed. The same seed gives the same map for any number of threads.

    Attributes
    ----------
    embedding_ : array (n_fit, 2)
        Positions of the fitted samples.
    fit_rows_ : array (n_fit,)
        Indices of the fitted samples among those given to `fit`.
    target_ : {"class", "real", "none"} or tuple
        What y was taken for; of several columns, and of ordered classes, a kind per column.
    target_names_ : tuple
        The names of several columns.
    classes_ : array or tuple of arrays
        The classes, with a class target. Of several columns those of each, None for a quantity.
    supervision_ : float
        How much the target counts: as it was given, or as it was chosen.
    supervision_curve_ : tuple of dicts or None
        What it was chosen from: dictionaries of posterior, supervision, score (the share that ten neighbours
        predict correctly under the metric, or the nRMSE), standard_error, map_score (the same on a quick map, where one
        was made), neighbors_kept (share of the neighbours in the data) and taken.
    metric_ : metric object
        The fitted metric: a `FisherMetric`, the one that was given, or the data's own without a target.
    map_ : `prismap.map.FittedMap`
        The fitted map as a plain value, which is judged, shown, saved and served.
    judgement_ : `prismap.judging.Judgement` or None
        The report, with the maps that the map was compared with; None before `report`.
    rows_, y_ : arrays
        The samples given to `fit` after validation, and their target (codes, numbers or None).
    times_ : dict
        Seconds per stage.
    notes_ : tuple of str
        What a reader should know about how the map was made. The report has these notes, too.
    seed_ : int
        The seed used.
    movement_ : object or None
        What has changed since the map that was given as `like`, in words and figures. A file has the words only.
    encoding_ : `prismap.tables.TableEncoding` or None
        How the columns of a table become features (`from_table`, ``prismap map``); None for a map of an array.
    index_ : array, index or None
        The names of the samples: ids, or the index of a pandas frame.
    target_name_ : str or None
        The name of y, if it had one.

    See Also
    --------
    prismap.metrics.FisherMetric : The supervised distance by itself.
    prismap.embeddings.TSNE : The embedding by itself.
    prismap.quality.MapReport : What `report` returns.

    Notes
    -----
    Fitting takes O(fit_rows^2) time and memory up to 10,000 fitted samples. Above, approximate nearest neighbours are
    searched instead, for t-SNE only. The default is a number and not a time, so that a map does not depend on the speed
    of the machine unless that is asked for. Projecting takes time linear in the number of samples. A sample gets the
    same position alone and in any batch, and a sample that equals a fitted one gets exactly its position.

    Two dimensions lose information, and distances between clusters mean little in a t-SNE map. Look at `report` before
    you interpret a picture.

    References
    ----------
    A. Schulz, J. Brinkrolf, B. Hammer (2017), Efficient kernelisation of discriminative dimensionality reduction. A.
    Schulz (2017), thesis, chapter 2. A. Gisbrecht, A. Schulz, B. Hammer (2015), Parametric nonlinear dimensionality
    reduction using kernel t-SNE.

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
        "metric": [str, Metric],
        "mapping": [StrOptions({*MAPPINGS, "auto", "own"}), Mapping],
        "supervision": [StrOptions({"auto", "max"}), Interval(Real, 0, 1, closed="both")],
        "target": [StrOptions({"auto", "class", "ordered", "real", "none"}), list, tuple],
        "data": [StrOptions(set(DATA)), DataMetric, *DESCRIBED],
        "fit_rows": [Interval(Integral, 2, None, closed="left"), str],
        "perplexity": [Interval(Real, 1, None, closed="left")],
        "copies": [StrOptions(set(COPIES))],
        "random_state": ["random_state"],
    }

    judgement_: Judgement | None = None
    _trust: Trust | None = None

    def __init__(
        self, method: Any = "tsne", *, metric: Any = "fisher", mapping: Any = "auto", supervision: Any = "auto",
        target: Any = "auto", data: Any = "vectors", fit_rows: Any = 5000, perplexity: float = 30,
        copies: str = "auto", random_state: Any = None,
    ) -> None:  # fmt: skip
        self.method = method
        self.metric = metric
        self.mapping = mapping
        self.supervision = supervision
        self.target = target
        self.data = data
        self.fit_rows = fit_rows
        self.perplexity = perplexity
        self.copies = copies
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, *, groups: Any = None, order: Any = None, given: Any = None, like: Any = None,
        callback: Any = None, verbose: int | None = None, checkpoint: Any = None,
    ) -> Self:  # fmt: skip
        """Fit the map to samples X with target y.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, n_features), or square matrix (n, n)
            Samples, or with ``data="similarity"`` or ``"dissimilarity"`` the matrix between them. Of a Dask array or
            data frame a sample of `fit_rows` samples is drawn in one pass, and `sampled_rows_` tells which. Values of
            dense vectors may be missing (NaN): a distance then goes over the columns that both samples have.
        y : array (n,) or (n, n_targets), data frame, or mapping from names to columns, default=None
            The target, or several. Unlabelled samples (-1 beside other codes, None, NaN) are mapped like all others.
        groups : array (n,) or "none", default=None
            Which samples are not independent of each other: those of one group, such as the recordings of one patient.
            The target is then learnt and judged by whole groups. Missing entries are groups of their own. None looks
            for dependence in the order of the samples, and acts upon what is beyond doubt. "none" takes all samples
            but copies as independent.
        order : array (n,), default=None
            A time or position per sample. The target is then learnt and judged by stretches of it, so long that samples
            of different ones are not alike, with a gap of one stretch between those that are learnt from and those that
            are judged.
        given : array (n,), default=None
            The level of each sample in a column that is known and of no interest, such as a batch, a site or a scanner.
            What the levels shift is taken out of the samples (`prismap.metrics._shift`), and the report permutes the
            target inside levels. `transform` then needs the levels of new samples. Dense vectors only.
        like : PrisMap, default=None
            An earlier map that can read X. Samples that both have, and groups of others where it projects them, start
            from their old places and are held there, as strongly as ten neighbours can afford. The map is then turned,
            reflected and scaled onto the earlier one (methods other than t-SNE are turned and reflected only), and
            `movement_` says what has changed.
        callback : callable, default=None
            ``callback(iteration, error, positions)``, called by the embedding. Return True to stop it.
        verbose : int, default=None
            How far it is: 0 says nothing, 1 says it; None does in terminals and notebooks if it takes a while.
        checkpoint : path, default=None
            A folder in which t-SNE keeps its state every two minutes, and a large map its neighbours. If the fit is
            killed, the same call goes on from there, to the same map. The folder is removed at the end.

        Returns
        -------
        self
        """
        self._validate_params()
        if checkpoint is not None and self.random_state is None:
            raise InputError("checkpoint needs random_state: without a seed another fit is another map.")
        if time_asked(self.fit_rows) is not None and checkpoint is not None:
            raise InputError(
                f"checkpoint needs a number of samples, and fit_rows={self.fit_rows!r} may be another number when the "
                "fit goes on. Set fit_rows=20000, for example."
            )
        # Not fitted, rather than half of a former map and half of this one, if anything goes wrong from here on.
        self.__dict__.pop("map_", None)
        self.judgement_ = self._trust = None
        params = {name: value for name, value in self.get_params(deep=False).items() if name != "random_state"}
        recipe = Recipe(**params, seed=as_seed(self.random_state))
        data, made_of, notes = read_given(self, recipe, X, y, groups=groups, order=order, given=given, like=like)
        with Progress("map", verbose) as progress:
            fitted = fit_sample(
                recipe, data, made_of, callback=callback, progress=progress, checkpoint=checkpoint,
            )  # fmt: skip
        self.map_ = replace(fitted, notes=(*notes, *fitted.notes))
        self.map_.data.warn()
        return self

    @classmethod
    def from_table(
        cls, table: Any, target: Any = None, *, id: str | None = None, groups: str | None = None,
        order: str | None = None, given: str | None = None, show: Any = (), use: Any = (), drop: Any = (),
        standardize: bool | None = None, impute: str | None = None, normalize: str | None = None,
        target_kind: Any = "auto", like: Any = None, callback: Any = None, verbose: int | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        """Fit a map to a table of numbers, booleans, categories, text and dates, as ``prismap map`` does.

        The map keeps how the columns became features: `transform`, `place` and all others take tables like this one
        from then on, after `load` too. (An array is taken as features that are encoded already.)

        Parameters
        ----------
        table : data frame of pandas, polars or pyarrow, or `prismap.tables.Table`
        target : the column that the map is about, or a list of several.
        given : a column of levels that are known and of no interest, such as a batch, which the map is to leave out
            (see `fit`). Later tables must have it, too.
        id : the column that names the rows.
        groups, order : the column that says which rows are not independent of each other, such as "patient", or that
            has their time or position (see `fit`). They are no features. If neither is given, columns that name units
            are looked for, too; ``groups="none"`` takes rows as independent.
        show, use, drop : names of columns not to use for the map, to use though they look like ids, dates or free
            text, and to leave out.
        standardize : whether each column, a category as a whole, is brought to variance 1; None: if they are no counts.
        impute : None leaves missing values as they are (see `fit`); "median" fills them, categories with the most
            frequent level. Infinite values are refused, or filled alike.
        normalize : "counts" divides the numbers of each row by their sum and takes log(1 + x), now and later.
        target_kind : "auto", "class", "ordered", "real" or "none", or a list with a kind for each target.
        like, callback, verbose : as in `fit`.
        **options : parameters of `PrisMap`.
        """
        targets = () if target is None else names_in(target)
        first = targets[0] if targets else None
        roles = Roles(
            first, id, names_in(drop), show=names_in(show), use=names_in(use), also=targets[1:], given=given,
            **unit_roles(groups, order),
        )  # fmt: skip
        return fit_table(
            partial(cls, **options), table, roles, target_kind=target_kind, impute=impute, normalize=normalize,
            standardize=normalize is None if standardize is None else standardize, like=like, callback=callback,
            verbose=verbose,
        )  # fmt: skip

    @classmethod
    def from_anndata(
        cls, adata: Any, target: str | None = None, *, groups: str | None = None, given: str | None = None,
        use_rep: str | None = None, layer: str | None = None, standardize: bool = False, normalize: str | None = None,
        target_kind: str = "auto", like: Any = None, callback: Any = None, verbose: int | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        """Fit a map to the cells of an AnnData object. `transform` takes AnnData objects from then on.

        Parameters
        ----------
        adata : AnnData, in memory or backed, dense or sparse
        target : str, default=None
            Column of ``adata.obs`` that the map is about, such as "cell_type".
        groups : str, default=None
            Column of ``adata.obs`` that says which cells are not independent of each other, such as "donor".
        given : str, default=None
            Column of ``adata.obs`` that is known and of no interest, such as "batch" (see `fit`).
        use_rep : str, default=None
            Entry of ``adata.obsm`` whose columns are the features, such as "X_pca". New cells must be in the same
            space: projected by the same components, not by components of their own.
        layer : str, default=None
            Layer to use. Without it and without `use_rep`, the features are the genes of ``adata.X``.
        standardize, normalize : as in `from_table`, but that nothing is standardised unless it is wanted.
        target_kind : {"auto", "class", "ordered", "real", "none"}, default="auto"
        like, callback, verbose : as in `fit`.
        **options : parameters of `PrisMap`.

        Returns
        -------
        PrisMap
            The fitted map. ``m.to_anndata(adata)`` writes its positions into the object.
        """
        if use_rep is not None and layer is not None:
            raise InputError(f"use_rep={use_rep!r} and layer={layer!r} are two matrices; name one of them.")
        matrix = use_rep if layer is None else layer
        roles = Roles(target, NAMES, matrix=matrix, given=given, **unit_roles(groups))
        return fit_table(
            partial(cls, **options), adata, roles, target_kind=target_kind, standardize=standardize,
            normalize=normalize, like=like, callback=callback, verbose=verbose,
        )  # fmt: skip

    def to_anndata(self, adata: Any, *, key: str = "X_prismap") -> None:
        """Write the positions of cells into ``adata.obsm[key]``, and what is known of them beside it.

        ``adata.obs["prismap_far"]`` marks the cells far from all fitted ones, and ``adata.uns["prismap"]`` holds the
        parameters. If the map was judged, ``adata.obs["prismap_trust"]`` says how far each cell can be trusted, and the
        verdict stands in ``adata.uns``. The cells may be new ones.
        """
        check_is_fitted(self, "map_")
        Y, far = self.place(adata)
        adata.obsm[key] = Y
        adata.obs["prismap_far"] = far
        judged = self.judgement_
        if judged is not None and judged.knows_trust:
            adata.obs["prismap_trust"] = self.trust(adata, positions=(Y, far))
        adata.uns["prismap"] = story_of_cells(self.map_, None if judged is None else judged.report)

    metric_ = of_map("metric", "The fitted metric of the map.")
    times_ = of_map("times", "Seconds by stage.")
    notes_ = of_map("notes", "What a reader should know about how the map was made.")
    seed_ = of_map("recipe.seed", "The seed used.")
    supervision_ = of_map("supervision", "How much the target counts.")
    supervision_curve_ = of_map("supervision_curve", "What that was chosen from.")
    rows_ = of_map("given.rows", "The samples given to `fit`.")
    fit_rows_ = of_map("given.fitted", "Indices of the fitted samples.")
    target_ = of_map("given.target.kind", "What y was taken for.")
    encoding_ = of_map("given.encoding", "How the columns of a table become features.")
    index_ = of_map("given.row_names", "The names of the samples.")
    movement_ = of_map("movement", "What has changed since the map that this one is like.")
    target_name_ = of_map("given.target_name", "The name of y.")

    @property
    def embedding_(self) -> NDArray[Any]:
        """Positions of the fitted samples."""
        return like_rows(self.map_.positions, self.map_.rows)

    @property
    def _n_features_out(self) -> int:
        """Columns of positions, for scikit-learn's names of them."""
        return int(self.map_.positions.shape[1])

    @property
    def y_(self) -> Any:
        """The target of the samples given to `fit`: codes, numbers or None."""
        target = self.map_.given.target
        return target.values if target.exists else None

    @property
    def classes_(self) -> Any:
        """The classes."""
        classes = self.map_.given.target.classes
        if classes is None:
            raise AttributeError("the map has no classes: its target is a quantity, or it has none.")
        return classes

    @property
    def target_names_(self) -> Any:
        """The names of several columns."""
        return self.map_.given.target.names

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit the map and return the positions of all samples: embedded if they were fitted, projected otherwise."""
        self.fit(X, y)
        return self.transform(X) if is_lazy(X) else like_rows(self.positions(), self.map_.rows)

    def positions(self, *, as_frame: bool = False) -> Any:
        """Positions of all samples given to `fit`, in their order; as a pandas frame with the table's index or ids."""
        check_is_fitted(self, "map_")
        Y = self.map_.placed[0].copy()
        return positions_frame(Y, self.get_feature_names_out(), self.index_) if as_frame else Y

    def transform(self, X: Any, *, given: Any = None) -> Any:
        """Project rows X, each independently of the others, in linear time.

        A row gets the same position alone and in any batch, and a row that equals a fitted one gets exactly its
        position. Where the posterior is known at the samples (the default for classes) positions agree to the last bit;
        where it is measured along segments, or by a metric of the user's, to 1e-5 of the map's spread. Another
        processor changes positions by no more than that.

        Matrix data: entries of the new rows against all rows given to `fit`. An iterator of batches gives an iterator
        of their positions; a Dask array or data frame gives a Dask array, and nothing is computed yet.

        `given`: the levels of the rows, if the map was fitted with some. A table that has the column of them needs no
        other. A level that the map was not fitted with is refused.
        """
        if is_lazy(X) or is_stream(X):
            check_is_fitted(self, "map_")
            return placed_later(self, X)
        return like_rows(self._place(X, given)[0], self.map_.rows)

    def score(self, X: Any, y: Any = None, *, groups: Any = None, given: Any = None) -> float:
        """How well the ten nearest fitted samples in the map predict the target of held-out samples.

        The share of correct classes, or ``R^2`` for a real-valued target. Model selection of scikit-learn uses it:
        ``GridSearchCV(PrisMap(), {"perplexity": [15, 30]})``. The `report` puts such a figure beside its baselines.
        `groups`: of the samples X; fitted samples of the same group have no vote on them.
        """
        check_is_fitted(self, "map_")
        y = target_in(self.encoding_, X) if y is None else y
        return held_out_score(self.map_, self.transform(X, given=given), y, groups)

    def place(self, X: Any, *, given: Any = None, return_distance: bool = False) -> Any:
        """Positions of samples X, and which of them are far from all fitted samples, in one pass.

        `given` as in `transform`. `return_distance`: the distances to the data (see `distance_to_data`), too.
        """
        Y, distance = self._place(X, given)
        far = distance > self.map_.far_threshold
        return (Y, far, distance) if return_distance else (Y, far)

    def distance_to_data(self, X: Any, *, given: Any = None) -> Numbers:
        """Distance of each row to the nearest fitted one, in units of the typical distance between fitted rows."""
        return self._place(X, given)[1]

    def is_far(self, X: Any, *, given: Any = None) -> NDArray[np.bool_]:
        """Which samples are farther from the nearest fitted one than 99 % of the fitted samples are from theirs."""
        return self._place(X, given)[1] > self.map_.far_threshold

    def drift(self, X: Any, *, given: Any = None) -> Drift:
        """Compare samples X with the fitted ones: a `Drift`, whose text says whether to refit.

        X may be an iterator of batches, of which one is held at a time. `given` as in `transform`.
        """
        check_is_fitted(self, "map_")
        batches = X if is_stream(X) else (X,)
        return drift_of(self.map_, (self._entries(batch, given) for batch in batches))

    def partial_refit(self, X: Any, y: Any = None, *, most: int = 500) -> Self:
        """Add at most `most` of the rows X that lie where the map has none; all that is on the map stays in place.

        `embedding_` gets their positions at its end, and `added_rows_` tells which they are. The metric is not learnt
        anew: y serves pictures and reports only (a Parzen posterior leaves these rows unlabelled). Vectors only.
        """
        check_is_fitted(self, "map_")
        fitted = self.map_
        if fitted.data.is_matrix:
            raise InputError("partial_refit needs data='vectors': distances between new rows are not known otherwise.")
        if fitted.shift is not None:
            raise InputError("partial_refit does not extend maps that were fitted with given=: fit anew.")
        rows = self._read(X).astype(fitted.rows.dtype, copy=False)
        values = encode_like(target_in(self.encoding_, X) if y is None else y, fitted.target, rows.shape[0])
        self.added_rows_ = added = new_landmarks(fitted, rows, most)
        if len(added):
            self.map_ = extended(fitted, rows[added], values[added])
            self.judgement_ = self._trust = None
        return self

    def _place(self, X: Any, given: Any = None) -> tuple[Numbers, Numbers]:
        entries = self._entries(X, given)  # which asks first whether there is a map
        return self.map_.place(entries)

    def _entries(self, X: Any, given: Any = None) -> Any:
        """What the map places of samples X in the levels `given`, or in those that a table brings along."""
        rows = self._read(X)
        return self.map_.entries(rows, levels_of(self.map_.given, X, given, rows.shape[0]))

    def _read(self, X: Any) -> Any:
        check_is_fitted(self, "map_")
        return self.map_.data.read(self, encoded(self.map_, X), reset=False)

    def inverse_transform(self, Y: Any) -> NDArray[Any]:
        """Rows for positions Y: a smooth 2-D surface through the fitted rows. Vectors only.

        SOM and GTM have a surface of their own, which a saved map does not keep; all others, and loaded maps, get an
        `InverseMap`, with classes the one that is weighted by the Fisher tensors (Schulz 2017, eq. 3.3).
        """
        check_is_fitted(self, "map_")
        fitted = self.map_
        if fitted.data.is_matrix:
            raise InputError("inverse_transform needs data='vectors': matrix data has no rows to give back.")
        require_complete(fitted.data, "inverse_transform")
        return fitted.inverse(Y)

    def report(
        self,
        *,
        n_permutations: int | None = None,
        budget: str | float | None = None,
        callback: Any = None,
        repairs: bool = False,
        forecast: bool = False,
        verbose: int | None = None,
    ) -> MapReport:
        """The `MapReport`: errors on held-out samples, baselines, and the verdict in words.

        The first call makes the map again a few times (without a target, with permuted ones, without the judged rows);
        later calls return the same report.

        Parameters
        ----------
        n_permutations : int or None, default=None
            Maps of permuted targets. None: two, or one if it is to be quick.
        budget : {"full", "quick"}, float or None, default=None
            "full" takes one to two and a half times as long as `fit`, "quick" half to two thirds as long (as long below
            300 rows), with fewer rows judged. A number of seconds is full if that is expected to suffice, else quick.
            None is the report that there is, or a full one; "full" after "quick" judges anew.
        callback : callable or None, default=None
            ``callback(done, all)`` counts the maps that are made for comparison.
        repairs : bool, default=False
            Of similarities, add a note that sets the four repairs of negative eigenvalues side by side.
        forecast : bool, default=False
            Of a map that was fitted with an order: judge the last fifth of the samples by those before them, and not
            every stretch of time by all others. A report of the other kind is made anew.
        verbose : int, default=None
            As in `fit`.
        """
        check_is_fitted(self, "map_")
        judged = self.judgement_
        if judged is not None and forecast != (judged.report.judged == FORECAST):
            judged = None
        better = judged is not None and budget == "full" and judged.report.budget == "quick"
        if judged is None or (better and judged.comparison is not None):
            with Progress("verdict", verbose) as progress:
                judged = judge_subject(
                    subject_of(self.map_), n_permutations=n_permutations, budget=budget or "full", forecast=forecast,
                    callback=progress.counting(callback, "maps for comparison"),
                )  # fmt: skip
            self._trust = None
        if repairs:
            judged = replace(judged, report=with_repairs(judged.report, self.map_))
        self.judgement_ = judged
        return judged.report

    @property
    def trust_(self) -> Trust:
        """How far each row given to `fit` can be trusted, a `prismap.quality.Trust`; after `report`."""
        check_is_fitted(self, "map_")
        if self._trust is None:
            self._trust = trust_in_given(self.map_, self._judged_trust())
        return self._trust

    def trust(self, X: Any, *, given: Any = None, positions: Any = None) -> Numbers:
        """The chance that the neighbours of samples X on the map are right about them, (n,); after `report`.

        NaN for samples that are far from all fitted ones. `given` as in `transform`. `positions`: what `place` returned
        for X, if it was called.
        """
        rows = self._entries(X, given)
        rule: Any = self._judged_trust().report.trust
        if positions is None:
            Y, distance = self.map_.place(rows)
            positions = Y, distance > self.map_.far_threshold
        return trust_at(self.map_, rule, rows, positions[0], positions[1], lambda: self.trust_)

    def _judged_trust(self) -> Judgement:
        """The judgement, which must know how far rows can be trusted."""
        judged = self.judgement_
        if judged is None:
            raise NotFittedError("trust_ needs the held-out rows of report(): call it first.")
        if not judged.knows_trust:
            raise NotFittedError(
                "trust_ is not known for this map: too few rows have a target, or there is none and no columns either "
                "that could be permuted (vectors have them)."
            )
        return judged

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the map with matplotlib and return the axes; options go to `MapDisplay.plot`."""
        from prismap.inspection._map import MapDisplay

        check_is_fitted(self, "map_")
        return MapDisplay.from_map(self).plot(ax=ax, **options).ax_

    def to_html(self, path: Any, *, model: Any = None, **options: Any) -> Any:
        """Write the self-contained page: the map, the baselines and the verdict. Judges the map first if needed.

        `model`: a trained classifier or regressor, whose decisions are shown behind the points. Options go to
        `prismap.page.page_of`: title, target_name, columns to show beside the features, images, row_ids.
        """
        from prismap.page._of_map import write_page

        return write_page(self, path, model=model, **options)

    def explore(self, **options: Any) -> Any:
        """The page as a notebook widget with a two-way `selection`; the static page where anywidget is missing.

        The map is shown at once and judged in a thread (``judge=False`` leaves that out); its verdict appears when that
        is done. Other options as for `to_html`, but `model`.
        """
        from prismap.page._of_map import show_page

        return show_page(self, **options)

    def save(self, path: str | Path, *, extra_header: dict[str, Any] | None = None) -> None:
        """Write the map to one file without pickle. A map that `load` reads gives the same positions."""
        check_is_fitted(self, "map_")
        report = None if self.judgement_ is None else self.judgement_.report
        save_map(self.map_, path, report, extra_header or {})

    @classmethod
    def load(cls, path: str | Path, *, compare: Any = None) -> Self:
        """Read a map that `save` wrote.

        `compare`: the function that compares objects, if the map was made with one of your own.
        """
        stored = read_map(path, cls, compare)
        model = cls(**stored.params)
        model.n_features_in_ = stored.fitted.given.n_features
        if stored.fitted.given.feature_names is not None:
            model.feature_names_in_ = stored.fitted.given.feature_names
        model.map_, model.extra_header_ = stored.fitted, stored.extra
        model.judgement_ = None if stored.report is None else Judgement(stored.report)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        data = data_metric(self.data)
        tags.input_tags.sparse = not data.is_matrix
        own = get_tags(data).input_tags
        tags.input_tags.pairwise, tags.input_tags.allow_nan = own.pairwise, own.allow_nan
        tags.target_tags.required = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
