"""`judge`: a verdict for coordinates, for a method that makes maps, and for a `PrisMap`."""

from __future__ import annotations

import warnings
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from prismap._random import as_generator, as_seed
from prismap.exceptions import InputError, PrismapWarning
from prismap.judging.circular import circularity, clusterer_of
from prismap.judging.inputs import as_coordinates, as_rows, as_target, refuse_other_rows
from prismap.judging.makers import maker_of, makes_maps
from prismap.judging.refits import Refits, refit
from prismap.judging.trust import trust_of
from prismap.map import PrisMap
from prismap.map.effort import effort_of
from prismap.map.scores import Judged, map_overlaps, score_cases
from prismap.map.twins import permute_known
from prismap.metrics.target import known_targets
from prismap.quality import (
    Estimate,
    MapClusters,
    MapReport,
    alignment_measure,
    current_versions,
    judge_clusters,
    local_quality,
    map_measures,
    r_nx,
    rare_classes,
)

#: Share of rows that lie exactly where another one does, from which on the report says so.
MANY_DUPLICATES = 0.1
#: Permutations of labels on a map that is not made again: they cost next to nothing.
N_PERMUTED = 20
NEIGHBORS = 10
#: Rows up to which it is told how many neighbours stay in another run: that takes all distances.
MOST_STEADY_ROWS = 10_000


def judge(
    subject: Any, X: Any = None, y: Any = None, *, target: str = "auto", supervised: bool = True,
    metric: Any = "euclidean", labels_from: Any = None, n_permutations: int | None = None, budget: Any = None,
    random_state: Any = 0, callback: Any = None,
) -> MapReport:  # fmt: skip
    """Judge a map, whoever made it, and say what could not be told.

    Three depths, by what is given:

    - ``judge(X, Y, y)``: the data, the coordinates of a map of them, and a target. Structure kept, labels of
      neighbours, overlaps, and the same for labels permuted on this map. Whether the method invents structure cannot be
      told, because it cannot be run again.
    - ``judge(method, X, y)``: an estimator (``UMAP()``, a pipeline) or a function of X, or of X and y, that returns
      positions. It is run again with permuted targets, without a target where it takes one, without the judged rows,
      and with another seed. Rows are projected by its own `transform` if it has one, else by votes of their nearest
      fitted rows, and the report says which. A fitted estimator keeps its `embedding_`.
    - ``judge(prismap)``: a fitted `PrisMap`; this is its `report`.

    Parameters
    ----------
    subject : array, estimator, function or PrisMap
    X : array of shape (n, d)
        The data; after an array as first argument, the (n, 2) coordinates. Frames whose rows have names must have
        them in the same order.
    y : array of shape (n,) or None, default=None
        The target; unlabelled rows are -1 beside other codes, None or NaN. None judges structure alone.
    target : {"auto", "class", "real", "none"}, default="auto"
        What y is; "none" ignores it.
    supervised : bool, default=True
        Whether the method is given the target, if it takes one. With False y only judges its map.
    metric : str, default="euclidean"
        Distances between rows of the data, by a name of scikit-learn. With coordinates also "precomputed".
    labels_from : None, "clustering", clusterer or function, default=None
        How y was made from the data, if it was: such labels are judged too well. The clustering is repeated on data
        with independently permuted columns, and the report says how much of the separation that explains.
    n_permutations : int or None, default=None
        Maps of permuted targets. None: two, or one if it is to be quick.
    budget : {"full", "quick"}, float or None, default=None
        "quick" runs a method three to five times and judges a fifth of the rows. A number of seconds is "full" if that
        is expected to suffice after the first run, else "quick". Coordinates cost the same. None is "full".
    random_state : int, RandomState instance or None, default=0
    callback : callable or None, default=None
        ``callback(done, all)`` counts the maps that are made for comparison.

    Returns
    -------
    MapReport
        Its `row_trust` has a figure per row: the chance that the row's neighbours on the map are right about it, or,
        without a target, the share of rows of a map of one Gaussian that keep fewer of their neighbours.

    See Also
    --------
    PrisMap.report : the same for a `PrisMap`.

    Notes
    -----
    A method is run eight to eighteen times if it uses the target, the more often the fewer rows there are and the more
    it projects itself, and six to eleven times if not; with ``budget="quick"`` four times or three. Three of these runs
    are of 300 rows at most.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> X, y = load_iris(return_X_y=True)
    >>> found = judge(X, PCA(2).fit_transform(X), y)
    >>> found.target_shows, found.overstates
    (True, None)
    >>> judge(PCA(2), X, y).overstates
    False
    """
    return judge_and_map(
        subject, X, y, target=target, supervised=supervised, metric=metric, labels_from=labels_from,
        n_permutations=n_permutations, budget=budget, random_state=random_state, callback=callback,
    )[0]  # fmt: skip


def judge_and_map(
    subject: Any, X: Any = None, y: Any = None, *, target: str = "auto", supervised: bool = True,
    metric: Any = "euclidean", labels_from: Any = None, n_permutations: int | None = None, budget: Any = None,
    random_state: Any = 0, callback: Any = None,
) -> tuple[MapReport, np.ndarray]:  # fmt: skip
    """The report of `judge`, and the positions of the rows that it is about.

    Parameters
    ----------
    subject, X, y, target, supervised, metric, labels_from, n_permutations, budget, random_state, callback : as in
        `prismap.judge`.

    Returns
    -------
    report : MapReport
    positions : array (n, 2)

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> report, Y = judge_and_map(X, X[:, :2], [0, 1] * 15)
    >>> Y.shape
    (30, 2)
    """
    if isinstance(subject, PrisMap):
        model = subject if X is None else clone(subject).fit(X, y)
        report = _judge_prismap(model, labels_from, n_permutations, budget, callback)
        trust = model.trust_ if X is not None and model.knows_trust() else None
        return report if trust is None else replace(report, row_trust=trust), model.positions()
    start, seed = perf_counter(), as_seed(random_state)
    rng = as_generator(seed)
    method = maker_of(subject, supervised=supervised) if makes_maps(subject) else None
    if X is None:
        raise InputError(
            "judge needs the data beside the method: judge(method, X, y)." if method is not None
            else "judge needs the coordinates beside the data: judge(X, Y, y)."
        )  # fmt: skip
    effort_of("full" if budget is None else budget, 0.0)  # refuses what is no budget
    refuse_other_rows(*((("X", X),) if method is not None else (("X", subject), ("Y", X))), ("y", y))
    rows = as_rows(X if method is not None else subject)
    kind, codes, classes = as_target(y, len(rows), target, rows if metric != "precomputed" else None)
    if method is None:
        report, made = _of_coordinates(rows, as_coordinates(X, len(rows)), kind, codes, classes, rng), None
    else:
        if metric == "precomputed":
            raise InputError(
                "metric='precomputed' is for coordinates, judge(D, Y, y); a method needs rows of features."
            )
        made = refit(method, rows, kind, codes, seed, n_permutations, metric, callback, budget or "full")
        report = _of_method(made, kind, codes, classes)
    Y = as_coordinates(X, len(rows)) if made is None else made.map.positions
    measures, arranged = map_measures(rows, Y, codes if kind == "class" else None, metric=metric, random_state=seed)
    if kind != "none" and metric == "euclidean":
        measures = {**measures, **alignment_measure(rows, Y, codes, random_state=seed)}
    notes, alarms = remarks_on(Y, made)
    trust = trust_of(rows, Y, kind, codes, made, metric)
    report = replace(
        report, structure=structure_of(rows, Y, made, metric, seed), arrangement=arranged,
        measures={**measures, **steadiness(Y, made)}, seed=seed, versions=current_versions(),
        notes=notes, warnings=alarms, clusters=clusters_of(Y, made, kind, codes, classes, seed),
        trust=None if trust is None else trust.rule, row_trust=trust,
    )  # fmt: skip
    if labels_from is not None:
        if kind != "class":
            raise InputError("labels_from is for classes that a clustering made; y holds none.")
        cluster = clusterer_of(labels_from, len(classes), seed)
        report = replace(report, circular=_circular(rows, Y, codes, cluster, method, seed, rng))
    return replace(report, times={"judging": perf_counter() - start}), Y


def _judge_prismap(
    model: PrisMap, labels_from: Any, n_permutations: int | None, budget: Any, callback: Any
) -> MapReport:
    report = model.report(n_permutations=n_permutations, budget=budget, callback=callback)
    if labels_from is None:
        return report
    if model.target_ != "class":
        raise InputError("labels_from is for classes that a clustering made; the map has none.")
    rows = model.fitted_rows()
    if model.parts_.data.is_matrix or sp.issparse(rows):
        raise InputError("labels_from needs rows of features: columns of a matrix cannot be permuted.")
    cluster = clusterer_of(labels_from, len(model.classes_), model.seed_)
    method, codes = maker_of(clone(model)), model.fitted_target()
    rng = as_generator(model.seed_)
    return replace(report, circular=_circular(rows, model.embedding_, codes, cluster, method, model.seed_, rng))


def _of_coordinates(rows, Y, kind, codes, classes, rng) -> MapReport:
    """Coordinates alone: rows are judged by the other rows on this map."""
    limits = [
        "whether the method invents structure, and whether new samples would go where they belong, because it cannot "
        "be run again: judge(method, X, y) can tell."
    ]
    if kind == "none":
        limits.append("how far single rows can be trusted: that takes a target, or the method that made the map.")
        return MapReport(target="none", n_fitted=len(Y), judged="in-sample", depth="coordinates", limits=tuple(limits))
    known = known_targets(codes)
    case = [Judged(Y[known], codes[known])]
    shuffled = [Judged(Y[known], permute_known(codes[known], rng)) for _ in range(N_PERMUTED)]
    scores, n_judged = score_cases(kind, None, codes, [], (case, None, shuffled), folded=False)
    return MapReport(
        target=kind, n_fitted=len(Y), n_judged=n_judged, judged="in-sample", scores=scores, depth="coordinates",
        limits=tuple(limits), **_class_findings(kind, case, classes),
    )  # fmt: skip


def _of_method(made: Refits, kind, codes, classes) -> MapReport:
    """A method that was run again."""
    n = len(made.map.positions)
    if kind == "none":
        return MapReport(target="none", n_fitted=n, limits=made.limits, budget=made.budget)
    scores, n_judged = score_cases(kind, made.map.positions, codes, made.permuted, made.cases, folded=made.folded)
    return MapReport(
        target=kind, n_fitted=n, n_judged=n_judged, judged="cross-validation", scores=scores, limits=made.limits,
        budget=made.budget, **_class_findings(kind, made.cases[0], classes),
    )  # fmt: skip


def _class_findings(kind, placed, classes) -> dict[str, Any]:
    """Overlaps and rare classes."""
    if kind != "class":
        return {}
    rare = rare_classes(np.concatenate([p.target for p in placed]))
    return {"overlaps": map_overlaps(placed, classes), "rare": tuple(str(classes[code]) for code in rare)}


def _circular(rows, Y, codes, cluster, method, seed, rng):
    make = None if method is None else lambda X, labels: method.make(X, labels, seed).positions
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        return circularity(np.asarray(rows), codes, cluster, rng, positions=Y, make=make)


def structure_of(rows: Any, Y: np.ndarray, made: Refits | None, metric: Any, seed: int) -> dict[str, Any]:
    """Neighbourhood preservation of the map and of the one without a target."""
    curves = {"map against data": r_nx(rows, Y, metric=metric, random_state=seed)}
    if made is not None and made.plain is not None:
        plain = made.plain.positions
        curves["unsupervised map against data"] = r_nx(rows, plain, metric=metric, random_state=seed)
    return curves


def steadiness(Y: np.ndarray, made: Refits | None) -> dict[str, Estimate]:
    """The share of a row's ten neighbours that it keeps in another run."""
    k = min(NEIGHBORS, len(Y) - 2)
    if made is None or made.again is None or k < 1 or len(Y) > MOST_STEADY_ROWS:
        return {}
    kept = local_quality(Y, made.again.positions, n_neighbors=k)
    return {"neighbours kept in another run": Estimate.over_rows(kept)}


def clusters_of(Y: np.ndarray, made: Refits | None, kind: str, codes: Any, classes: Any, seed: int) -> MapClusters:
    """The clusters of the map, in the runs there were and against the map of one Gaussian."""
    names = [None if code < 0 else str(classes[code]) for code in codes] if kind == "class" else None
    runs, nulls = ((), ()) if made is None else (made.runs, [null.positions for _, null in made.nulls])
    return judge_clusters(Y, runs, nulls=nulls, names=names, random_state=seed)


def remarks_on(Y: np.ndarray, made: Refits | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Notes on how the map was judged, and warnings about its coordinates."""
    notes = (
        ("The trust in single rows was learnt from the rows of the map themselves.",) if made is None else made.notes
    )
    shared = len(Y) - len(np.unique(Y, axis=0))
    if shared <= MANY_DUPLICATES * len(Y):
        return notes, ()
    return notes, (
        f"{shared} of {len(Y)} rows lie exactly where another row does; rows at one place share their votes.",
    )
