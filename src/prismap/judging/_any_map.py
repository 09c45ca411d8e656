"""`judge`: a verdict for coordinates, for a method that makes maps, and for a `PrisMap`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from prismap._util.random import as_generator, as_seed
from prismap.exceptions import InputError, PrismapWarning
from prismap.judging._budget import FULL_SHARE, effort_of
from prismap.judging._dependence import dependence_findings
from prismap.judging._inputs import as_coordinates, as_rows, as_target, refuse_other_rows
from prismap.judging._judge import Judgement, Subject, judge_subject
from prismap.judging._makers import EstimatorMethod, FunctionMethod, OtherMade, OtherMaker, makes_maps, method_of
from prismap.judging._trust import trust_in_own_rows
from prismap.metrics._shift import without_shift
from prismap.quality import MapReport
from prismap.quality._report import Circularity
from prismap.quality._statements import Statement
from prismap.target import ClassTarget, Target, decide_units, read_levels

#: Share of rows that lie exactly where another one does, from which on the report says so.
MANY_DUPLICATES = 0.1
#: A full verdict takes some eighteen runs of a method, of which two have been made when it is asked how long they take.
RUNS, RUNS_MADE = 18, 2


def judge(
    subject: Any, X: Any = None, y: Any = None, *, target: str = "auto", supervised: bool = True,
    metric: Any = "euclidean", groups: Any = None, given: Any = None, labels_from: Any = None,
    n_permutations: int | None = None, budget: Any = None, random_state: Any = 0, callback: Any = None,
) -> MapReport:  # fmt: skip
    """Judge a map, whoever made it, and say what could not be determined.

    Three depths, by what is given:

    - ``judge(X, Y, y)``: the data, the coordinates of a map of them, and a target. Structure kept, labels of
      neighbours, overlaps, and the same for labels permuted on this map. Whether the method invents structure
      remains open, because it cannot be run again.
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
    given : array of shape (n,) or None, default=None
        The level of each row in a column that is known and of no interest, such as a batch. The target is permuted
        inside levels, and the report says what the column has to do with the target and the map. (A `PrisMap` that is
        fitted here leaves the levels out.)
    supervised : bool, default=True
        Whether the method is given the target, if it takes one. With False y only judges its map.
    metric : str, default="euclidean"
        Distances between rows of the data, by a name of scikit-learn. With coordinates also "precomputed".
    groups : array of shape (n,), "none" or None, default=None
        Which rows are not independent of each other: those of one group, such as the cells of one donor. Rows of a
        group have no vote on each other, and maps for comparison leave out whole groups. None looks for copies and for
        an order of the rows, "none" for copies alone.
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
        subject, X, y, target=target, supervised=supervised, metric=metric, groups=groups, given=given,
        labels_from=labels_from,
        n_permutations=n_permutations, budget=budget, random_state=random_state, callback=callback,
    )[0]  # fmt: skip


def judge_and_map(
    subject: Any, X: Any = None, y: Any = None, *, target: str = "auto", supervised: bool = True,
    metric: Any = "euclidean", groups: Any = None, given: Any = None, labels_from: Any = None,
    n_permutations: int | None = None, budget: Any = None, random_state: Any = 0, callback: Any = None,
) -> tuple[MapReport, np.ndarray]:  # fmt: skip
    """The report of `judge`, and the positions of the rows that it is about.

    Parameters
    ----------
    subject, X, y, target, supervised, metric, groups, given, labels_from, n_permutations, budget, random_state,
    callback : as
        in `prismap.judge`.

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
    if reports_itself(subject):
        if X is None and groups is not None:
            raise InputError("groups belong to the fit of a PrisMap: use fit(X, y, groups=...).")
        if X is None and given is not None:
            raise InputError("given: a fitted PrisMap is judged by the levels it was fitted with; leave it out.")
        model = subject if X is None else clone(subject).fit(X, y, groups=groups, given=given)
        report = model.report(n_permutations=n_permutations, budget=budget, callback=callback)
        if labels_from is not None:
            report = replace(report, circular=circularity_of(model, labels_from))
        if X is not None and report.trust is not None:
            report = replace(report, row_trust=model.trust_)
        return report, model.positions()
    start, seed = perf_counter(), as_seed(random_state)
    method = method_of(subject, supervised=supervised) if makes_maps(subject) else None
    if X is None:
        raise InputError(
            "judge needs the data beside the method: judge(method, X, y)." if method is not None
            else "judge needs the coordinates beside the data: judge(X, Y, y)."
        )  # fmt: skip
    budget = "full" if budget is None else budget
    effort_of(budget, 0.0)  # refuses what is no budget before anything is run
    refuse_other_rows(*((("X", X),) if method is not None else (("X", subject), ("Y", X))), ("y", y))
    rows = as_rows(X if method is not None else subject)
    made_target = as_target(y, len(rows), target, rows if metric != "precomputed" else None)
    kind = "dissimilarity" if metric == "precomputed" else "vectors"
    levels, alike = None, rows
    if given is not None:
        levels, codes = read_levels(given, len(rows))
        made_target = made_target.inside(codes, len(levels))
        alike = without_shift(rows, made_target) if kind == "vectors" else rows
    dependence = decide_units(alike, made_target, data=kind, groups=groups, seed=seed, raw=rows)
    if dependence.units is not None:
        made_target = made_target.with_units(dependence.units)
    if method is None:
        judged = of_coordinates(rows, as_coordinates(X, len(rows)), made_target, metric, seed)
    else:
        judged = of_method(method, rows, made_target, metric, seed)
    if levels is not None:
        judged = replace(judged, column=levels.name, raw=judged.columns)
    alarms = judged.findings
    judged = replace(judged, findings=lambda: (*dependence_findings(judged.made, made_target, dependence), *alarms()))
    judgement = judge_subject(judged, budget=budget, n_permutations=n_permutations, callback=callback)
    report, Y = with_trust(judgement, judged), judged.made.positions
    if judged.maker is not None:
        report = replace(report, notes=(*judged.maker.notes, *report.notes), limits=judged.maker.limits)
    if labels_from is not None:
        if not isinstance(made_target, ClassTarget):
            raise InputError("labels_from is for classes that a clustering made; y holds none.")
        report = replace(report, circular=circular_labels(rows, Y, made_target, labels_from, method, seed))
    return replace(report, times={"judging": perf_counter() - start}), Y


def reports_itself(subject: Any) -> bool:
    """Whether something is a map that can be judged by its own report: a `PrisMap`."""
    return hasattr(subject, "report") and hasattr(subject, "from_table")


def of_coordinates(
    rows: NDArray[np.float64], Y: NDArray[np.float64], target: Target, metric: Any, seed: int
) -> Subject:
    """Coordinates that exist already."""
    limits = [
        "whether the method invents structure, and whether new samples would go where they belong, because it cannot "
        "be run again: judge(method, X, y) can tell."
    ]
    notes: tuple[str, ...] = ("The trust in single rows was learnt from the rows of the map themselves.",)
    if not target.exists:
        limits.append("how far single rows can be trusted: that takes a target, or the method that made the map.")
    return Subject(
        OtherMade(Y, rows, metric), target, None, seed, {"data": (rows, metric)},
        rows if metric == "euclidean" else None,
        facts={"limits": tuple(limits), "notes": notes}, findings=lambda: shared_places(Y),
    )  # fmt: skip


def of_method(
    method: EstimatorMethod | FunctionMethod, rows: NDArray[np.float64], target: Target, metric: Any, seed: int
) -> Subject:
    """The map of a method that can be run again."""
    if metric == "precomputed":
        raise InputError("metric='precomputed' is for coordinates, judge(D, Y, y); a method needs rows of features.")
    start = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        maker = OtherMaker(method, rows, target, metric, seed)
    seconds = RUNS / RUNS_MADE / FULL_SHARE * (perf_counter() - start)
    return Subject(
        maker.map, target, maker, seed, {"data": (rows, metric)}, rows if metric == "euclidean" else None, seconds,
        findings=lambda: shared_places(maker.map.positions),
    )  # fmt: skip


def shared_places(Y: NDArray[np.float64]) -> tuple[Statement, ...]:
    """A warning if many rows lie exactly where another one does."""
    shared = len(Y) - len(np.unique(Y, axis=0))
    if shared <= MANY_DUPLICATES * len(Y):
        return ()
    words = f"{shared} of {len(Y)} rows lie exactly where another row does; rows at one place share their votes."
    return (Statement("shared_places", words, "warning", figures={"rows": shared}, n_rows=len(Y)),)


def with_trust(judgement: Judgement, subject: Subject) -> MapReport:
    """The report with the trust in each row of the map."""
    report, comparison = judgement.report, judgement.comparison
    if report.trust is None or comparison is None:
        return report
    plain = comparison.plain_run if subject.maker is not None and subject.maker.compares_plain else None
    trust = trust_in_own_rows(subject.made, report.trust, subject.target, plain, comparison.runs)
    return replace(report, row_trust=trust)


def circularity_of(model: Any, labels_from: Any) -> Any:
    """What clustering explains of the separation on the map of a `PrisMap`."""
    fitted = model.map_
    if not isinstance(fitted.target, ClassTarget):
        raise InputError("labels_from is for classes that a clustering made; the map has none.")
    if fitted.data.is_matrix or sp.issparse(fitted.rows):
        raise InputError("labels_from needs rows of features: columns of a matrix cannot be permuted.")
    method = method_of(clone(model))
    return circular_labels(fitted.rows, fitted.positions, fitted.target, labels_from, method, fitted.seed)


def circular_labels(rows: Any, Y: Any, target: ClassTarget, labels_from: Any, method: Any, seed: int) -> Any:
    """What clustering explains of the separation of labels."""
    cluster = clusterer_of(labels_from, len(target.classes), seed)
    make = None if method is None else lambda X, labels: method.make(X, labels, seed)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        return circularity(np.asarray(rows), target.values, cluster, as_generator(seed), positions=Y, make=make)


# --- labels that a clustering made ------------------------------------------------------------------------------------
#
# Clusters found in data and shown on a map of the same data are separate by construction. The same clustering of data
# whose columns are permuted independently, which leaves every column as it was and no relation between columns, tells
# how much of the separation is the clustering's own work.

N_REPEATS = 3
#: Rows whose silhouettes are averaged: that takes all distances.
MOST_ROWS = 2000


def clusterer_of(labels_from: Any, n_classes: int, seed: int) -> Any:
    """The function from rows to labels: "clustering" is k-means with as many clusters as there are classes."""
    if isinstance(labels_from, str) and labels_from == "clustering":
        return KMeans(n_classes, n_init=3, random_state=seed).fit_predict
    if hasattr(labels_from, "fit_predict"):
        return lambda rows: clone(labels_from).fit_predict(rows)
    if callable(labels_from):
        return labels_from
    raise InputError(
        f"labels_from must be 'clustering', a clusterer with fit_predict, or a function of rows; got {labels_from!r}."
    )


def permuted_columns(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Every column in an order of its own."""
    return rng.permuted(X, axis=0)


def circularity(
    X: np.ndarray,
    y: np.ndarray,
    cluster: Callable[[Any], Any],
    rng: np.random.Generator,
    *,
    positions: np.ndarray | None = None,
    make: Callable[[Any, Any], np.ndarray] | None = None,
) -> Circularity:
    """The separation of labels on a map and what clustering explains of it; in the data if no map can be made again."""
    separate = separation(X if make is None or positions is None else positions, y)
    nulls = []
    for _ in range(N_REPEATS):
        rows = permuted_columns(X, rng)
        labels = np.asarray(cluster(rows))
        if labels.shape != (len(rows),):
            raise InputError(f"labels_from must give one label per row; got an array of {labels.shape}.")
        nulls.append(0.0 if len(np.unique(labels)) < 2 else separation(make(rows, labels) if make else rows, labels))
    return Circularity(separate, float(np.mean(nulls)), "data" if make is None else "map")


def separation(Y: np.ndarray, y: np.ndarray) -> float:
    """The mean silhouette width of the labelled rows.

    Not the error of neighbours: any cut through one cloud has next to none, and it would be called a perfect cluster.
    """
    known = y >= 0 if y.dtype.kind in "iu" else np.ones(len(y), dtype=bool)
    size = int(known.sum())
    if len(np.unique(y[known])) >= size:
        return 0.0
    return float(silhouette_score(Y[known], y[known], sample_size=min(size, MOST_ROWS), random_state=0))
