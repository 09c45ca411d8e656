"""How a map is judged: on rows that took no part, beside its unsupervised twin and twins with permuted targets."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from prismap._random import as_generator
from prismap._threads import pool_of_threads
from prismap._validation import changed
from prismap.exceptions import InputError, PrismapWarning
from prismap.map.choose import compared_with_own
from prismap.map.columns import column_notes
from prismap.map.make import MAPPINGS, QUICK_ITER, make_embedding, needs_target
from prismap.map.parts import DENSE_ROWS, MapParts
from prismap.mappings import KernelMap
from prismap.metrics import FisherMetric, SimilarityMetric
from prismap.metrics.target import known_targets
from prismap.quality import (
    Estimate,
    MapReport,
    NullResult,
    TargetScore,
    chance_error,
    chance_nrmse,
    class_overlap,
    current_versions,
    knn_error,
    knn_nrmse,
    knn_rank_correlation,
    knn_rank_error,
    map_measures,
    overlapping_pairs,
    r_nx,
    rare_classes,
)

#: Rows given to `fit` but not fitted are enough to judge by from here on; below, the map is refitted in folds.
FEWEST_HELD_OUT = 200
MOST_HELD_OUT = 5000
#: A fifth of the rows is enough to judge by from here on; below, all five fifths are.
FEWEST_IN_ONE_FOLD = 300
#: Ten neighbours are better founded than one where most rows have so many fitted rows of their class.
MANY_PER_CLASS = 20
#: Errors of a target by what they compare: classes, values, ranks and their order.
ERRORS = {"class": knn_error, "real": knn_nrmse, "rank": knn_rank_error, "order": knn_rank_correlation}
#: Maps of permuted targets need not be larger than this to show what the method invents.
MOST_PERMUTED_ROWS = 2000
#: With fewer labelled rows, a map without a fifth of them has too few to vote on that fifth.
FEWEST_LABELLED = 15


@dataclass(frozen=True)
class Twins:
    """Maps of the same rows without a target and with a permuted one, and that permuted target."""

    unsupervised: MapParts
    permuted: MapParts | None = None
    permuted_target: np.ndarray | None = None
    permuted_rows: np.ndarray | None = None
    judged: tuple[Judged, ...] = ()
    """The judged rows on the map, or on maps of the others."""


@dataclass(frozen=True)
class Judged:
    """Judged rows on a map: their positions and targets, and those of the rows that vote (None: the other rows)."""

    positions: np.ndarray
    target: np.ndarray
    fitted_positions: np.ndarray | None = None
    fitted_target: np.ndarray | None = None


def judge(model, *, n_permutations=None, callback=None):
    """The report of a fitted `PrisMap`, and its twins; where the target cannot be judged, a note says why."""
    words = None if model.target_ == "none" else too_few_labels(model.fitted_target(), model.target_)
    if words is None:
        try:
            return judge_with(model, n_permutations=n_permutations, callback=callback)
        except InputError as error:  # the map itself was made: it is a refit to fewer rows that cannot be
            words = f"a map for comparison cannot be made: {error}"
    report, twins = judge_with(model, callback=callback, by_target=False)
    return replace(report, notes=(f"How well the target shows was not judged: {words}", *report.notes)), twins


def too_few_labels(y, target):
    """Why maps of four fifths of the labelled rows cannot be made or cannot judge the last fifth; None if they can."""
    known = y[known_targets(y)]
    if len(known) < FEWEST_LABELLED:
        return f"{len(known)} rows have a target, and at least {FEWEST_LABELLED} are needed."
    if target == "class" and np.sum(np.unique(known, return_counts=True)[1] > 1) < 2:
        return "fewer than two classes have more than one row, so a map without some rows has nothing to tell apart."
    return None


def judge_with(model, *, n_permutations=None, callback=None, by_target=True):
    """The report and the twins, with or without scores of the target."""
    start = perf_counter()
    y, data = model.fitted_target(), model.parts_.data
    scores, overlaps, judged, n_judged = (), None, "in-sample", 0
    rare: tuple[str, ...] = ()
    twins = Twins(model.parts_)
    if model.target_ != "none" and not by_target:
        twins = Twins(
            *run_side_by_side([(fit_twin, model, twins_of(model)[1], None, np.arange(data.n_rows_))], callback)
        )
    if model.target_ != "none" and by_target:
        rng = as_generator(model.seed_ + 1)
        n_permutations = n_permutations or (2 if data.n_rows_ > 600 else 5)
        shuffles = [permuted_part(y, rng) for _ in range(n_permutations)]
        held_out = held_out_rows(model, rng)
        folds = [] if len(held_out) >= FEWEST_HELD_OUT else judged_folds(y, model.target_, rng)
        shuffled = [permute_known(y, rng) for _ in folds]
        quick, plain, quick_plain = twins_of(model)
        jobs: list[tuple[Any, ...]] = [(fit_twin, model, plain, None, np.arange(data.n_rows_))]
        jobs += [(fit_twin, model, quick, target, rows) for target, rows in shuffles]
        for (kept, out), target in zip(folds, shuffled, strict=True):
            jobs.append((place_fold, model, quick, y, kept, out))
            jobs.append((place_fold, model, quick_plain, y, kept, out))
            jobs.append((place_fold, model, quick, target, kept, out))
        done = run_side_by_side(jobs, callback)
        permuted = [(one, *shuffle) for one, shuffle in zip(done[1:], shuffles, strict=False)]
        twins = Twins(done[0], *permuted[0])
        judged = "cross-validation" if folds else "held-out rows"
        cases = [done[1 + n_permutations + k :: 3] for k in range(3)]
        if not folds:
            cases = held_out_cases(model, held_out, twins.unsupervised, permuted, rng)
        twins = replace(twins, judged=tuple(cases[0]))
        scores, n_judged = score_cases(model.target_, model.embedding_, y, permuted, cases, folded=bool(folds))
        if model.target_ == "class":
            overlaps = map_overlaps(cases[0], model.classes_)
            rare = tuple(str(name) for name in model.classes_[rare_classes(judged_targets(cases[0]))])
    parts = model.parts_
    measures, arranged = map_measures(
        None, parts.positions, y if model.target_ == "class" else None, metric=parts.data,
        neighborhoods=not parts.is_large, random_state=parts.seed,
    )  # fmt: skip
    report = MapReport(
        target=model.target_, n_fitted=data.n_rows_, n_judged=n_judged, judged=judged, scores=scores,
        structure=structure_curves(parts, twins.unsupervised), measures=measures, arrangement=arranged,
        overlaps=overlaps, rare=rare, bandwidths=bandwidths(model),
        posterior=posterior_words(model), seed=model.seed_, versions=current_versions(),
        times={**model.times_, "judging": perf_counter() - start}, settings=settings_of(model), notes=notes_of(model),
        supervision_curve=model.supervision_curve_,
    )  # fmt: skip
    return report, twins


# --- twins: the same estimator with other parameters, fitted to other targets -----------------------------------------


def twins_of(model):
    """The map made again in half the iterations, without a target, and both: as parameters that change.

    No twin searches for the smoothness of its kernels anew. Without a target a map is often torn, and kernels place new
    rows badly on such a map; by votes it is judged at its best.
    """
    same = {"target": model.target_, "random_state": model.seed_, "fit_rows": len(model.fit_rows_)}
    if model.mapping == "auto":  # as it was taken
        same["mapping"] = "fisher" if isinstance(model.parts_.mapping, KernelMap) else "vote"
    mapping = same.get("mapping", model.mapping)
    named = MAPPINGS.get(mapping) if isinstance(mapping, str) else None
    by_kernels = isinstance(named, KernelMap) and named.kernel == "rbf"
    if by_kernels:
        found = model.parts_.mapping
        options = {"bandwidth": found.factor_, "ridge": found.ridge_, "perplexity": model.perplexity}
        same["mapping"] = changed(named, **options, random_state=model.seed_)
    plain = {**same, "target": "none", "metric": "fisher"}
    if by_kernels:
        plain["mapping"] = "vote"
    if needs_target(model.method):
        plain["method"] = "tsne"
    settings = {"perplexity": model.perplexity, "seed": model.seed_, "n_iter": QUICK_ITER}
    quick = {**same, "method": make_embedding(model.method, **settings)}
    quick_plain = {**plain, "method": make_embedding(plain.get("method", model.method), **settings)}
    return quick, plain, quick_plain


def fit_twin(model, params, target, rows):
    """The parts of a twin that is fitted to some of the model's fitted rows."""
    return changed(model, **params).fit(model.parts_.data.cut(model.fitted_rows(), rows), target).parts_


def place_fold(model, params, y, kept, out):
    """Rows `out` on a twin of the rows `kept`."""
    data, rows = model.parts_.data, model.fitted_rows()
    twin = changed(model, **params).fit(data.cut(rows, kept), y[kept])
    return Judged(twin.parts_.place(data.entries(rows[out], kept))[0], y[out], twin.embedding_, y[kept])


def run_side_by_side(jobs, callback=None):
    """Results of ``job[0](*job[1:])``, on all cores: one thread a map, none of which splits its matrix products.

    `callback(done, all)` counts the maps.
    """
    done = []
    with warnings.catch_warnings(), pool_of_threads() as pool:
        # What there is to say of these rows and settings, the map itself has said.
        warnings.simplefilter("ignore", PrismapWarning)
        pending = [pool.submit(*job) for job in jobs]
        try:
            for result in pending:
                done.append(result.result())
                if callback is not None:
                    callback(len(done), len(jobs))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # an interrupt does not wait for maps nobody will see
            raise
    return done


def permuted_part(y, rng):
    """A permuted target of at most `MOST_PERMUTED_ROWS` of the rows: (target, indices)."""
    rows = np.arange(len(y))
    if len(rows) > MOST_PERMUTED_ROWS:
        rows = np.sort(rng.choice(rows, MOST_PERMUTED_ROWS, replace=False))
    return permute_known(y[rows], rng), rows


def permute_known(y, rng):
    """The target with its known entries permuted."""
    known = np.flatnonzero(known_targets(y))
    shuffled = y.copy()
    shuffled[known] = y[rng.permutation(known)]
    return shuffled


def held_out_rows(model, rng):
    """Labelled rows that were given to `fit` and not fitted, at most `MOST_HELD_OUT`."""
    others = np.setdiff1d(np.flatnonzero(known_targets(model.y_)), model.fit_rows_)
    return np.sort(rng.choice(others, MOST_HELD_OUT, replace=False)) if len(others) > MOST_HELD_OUT else others


def held_out_cases(model, held_out, unsupervised, permuted, rng):
    """The judged rows on the map, on its unsupervised twin, and on the maps of permuted targets."""
    rows, y = model.entries(model.rows_[held_out]), model.y_[held_out]
    fitted = model.fitted_target()
    cases = [[Judged(one.place(rows)[0], y, one.positions, fitted)] for one in (model.parts_, unsupervised)]
    placed = []
    for one, shuffled, index in permuted:
        part = model.parts_.data.entries(rows, index)
        placed.append(Judged(one.place(part)[0], permute_known(y, rng), one.positions, shuffled))
    return cases[0], cases[1], placed


def judged_folds(y, target, rng):
    """(kept, judged) rows: a fifth of the labelled rows is judged if that is many, each of the five otherwise."""
    known = np.flatnonzero(known_targets(y))
    kind = StratifiedKFold if target == "class" and min_class(y[known]) >= 5 else KFold
    split = kind(5, shuffle=True, random_state=int(rng.integers(2**31))).split(known, y[known])
    folds = [(kept_rows(len(y), known[out], rng), known[out]) for _, out in split]
    return folds[:1] if len(known) / 5 >= FEWEST_IN_ONE_FOLD else folds


def kept_rows(n_rows, out, rng):
    """All rows but `out`; of a large map a draw that is fitted in a fraction of the time, and errs on the safe side."""
    kept = np.setdiff1d(np.arange(n_rows), out)
    return np.sort(rng.choice(kept, DENSE_ROWS, replace=False)) if len(kept) > DENSE_ROWS else kept


def min_class(y):
    """Size of the smallest class."""
    return int(np.unique(y, return_counts=True)[1].min())


def error_of(target, n_neighbors, positions, y, fitted_positions=None, fitted_y=None, *, rare=()):
    """An error of `ERRORS`; of several real targets its mean. Rows of `rare` classes vote, and are not judged."""
    if y.ndim == 2:
        columns = zip(y.T, [None] * y.shape[1] if fitted_y is None else fitted_y.T, strict=True)
        parts = [error_of(target, n_neighbors, positions, one, fitted_positions, other) for one, other in columns]
        # The same rows were judged for every target: their errors are not independent.
        return Estimate(float(np.mean([float(part) for part in parts])), float(np.mean([p.spread for p in parts])))
    options = {"judged": ~np.isin(y, rare)} if len(rare) else {}
    return ERRORS[target](
        positions, y, n_neighbors=n_neighbors, Y_fit=fitted_positions, y_fit=fitted_y, **options
    )  # fmt: skip


def joint(target, n_neighbors, placed, rare=()):
    """The error over several sets of judged rows, with the standard error of all of them together."""
    placed = [p for p in placed if not np.isin(p.target, rare).all()]
    parts = [
        error_of(target, n_neighbors, p.positions, p.target, p.fitted_positions, p.fitted_target, rare=rare)
        for p in placed
    ]
    sizes = np.array([(~np.isin(p.target, rare)).sum() if len(rare) else len(p.target) for p in placed], dtype=float)
    spread = np.sqrt(np.sum((sizes * [part.spread for part in parts]) ** 2)) / sizes.sum()
    return Estimate(float(np.average([float(part) for part in parts], weights=sizes)), float(spread))


def judged_targets(placed):
    """The targets of all judged rows."""
    return np.concatenate([p.target for p in placed])


def kinds_of_error(target, y, rare):
    """(name, kind of `ERRORS`, neighbours) of the scores of a report, the best founded first."""
    if target == "real":
        kinds = [("rank error", "rank", 5), ("nRMSE", "real", 5), ("rank correlation", "order", 5)]
        many = y.shape[1] if y.ndim == 2 else 1
        return [(f"mean {name} of {many} targets" if many > 1 else name, *how) for name, *how in kinds]
    sizes = np.bincount(y[y >= 0])
    common = y[(y >= 0) & ~np.isin(y, rare)]
    kinds = [("10-NN error", "class", 10), ("1-NN error", "class", 1)]
    return kinds if len(common) and np.median(sizes[common]) >= MANY_PER_CLASS else kinds[::-1]


def score_cases(target, positions, y, permuted, cases, *, folded):
    """The scores of the report, and how many rows they were judged on.

    `positions` are those of the fitted rows, None where these are the judged rows themselves; the cases of an
    unsupervised map are None where there is none. No figure rests on rows of rare classes.
    """
    on_map, on_unsupervised, on_permuted = cases
    of_all = judged_targets(on_map)
    rare = rare_classes(of_all) if target == "class" else np.empty(0, dtype=np.intp)
    n_judged = len(of_all) - int(np.isin(of_all, rare).sum()) if len(rare) else len(of_all)
    if not n_judged:
        return (), 0
    scores = []
    for name, kind, k in kinds_of_error(target, y, rare):
        k = min(k, *(len(p.target) - 1 if p.fitted_target is None else len(p.fitted_target) - 1 for p in on_map))
        chance = chance_of(kind, y, k, rare)
        # Folds judge few rows each: together they make one figure. Placed rows make one a permutation.
        groups = [on_permuted] if folded else [[p] for p in on_permuted]
        null = tuple(float(joint(kind, k, group, rare)) for group in groups)
        inside = tuple(float(error_of(kind, k, one.positions, other, rare=rare)) for one, other, _ in permuted)
        score = TargetScore(
            name=name, value=joint(kind, k, on_map, rare), chance=chance,
            in_sample=None if positions is None else error_of(kind, k, positions, y, rare=rare),
            unsupervised=None if on_unsupervised is None else joint(kind, k, on_unsupervised, rare),
            permuted=NullResult(null, chance), permuted_in_sample=NullResult(inside, chance) if inside else None,
        )  # fmt: skip
        scores.append(score)
    return tuple(scores), n_judged


def chance_of(kind, y, k, rare):
    """The level of an error that unrelated targets have."""
    if kind == "class":
        return float(chance_error(y, n_neighbors=k, judged=~np.isin(y, rare)))
    return 0.0 if kind == "order" else float(chance_nrmse(k))


def map_overlaps(placed, classes):
    """Pairs of classes that are mixed among the judged rows; a rare class is neither side of a pair."""
    rare = rare_classes(judged_targets(placed))
    shares = np.zeros((len(classes), len(classes)))
    sizes = np.zeros(len(classes))
    # Rows of different folds lie on different maps: each votes on its own, the shares are averaged over the rows.
    for p in placed:
        found, names = class_overlap(p.positions, p.target, Y_fit=p.fitted_positions, y_fit=p.fitted_target)
        names = names.astype(np.intp)  # a fold need not hold every class
        counts = np.bincount(p.target[p.target >= 0], minlength=len(classes))
        shares[np.ix_(names, names)] += np.nan_to_num(found) * counts[names, None]
        sizes += counts
    with np.errstate(invalid="ignore"):
        shares /= sizes[:, None]
    shares[rare], shares[:, rare] = np.nan, np.nan
    return overlapping_pairs(shares, [str(name) for name in classes])


def structure_curves(parts, unsupervised):
    """Neighbourhood preservation of the map against the data, of its twin, and against the Fisher metric.

    Of a large map each curve is from the neighbourhoods of a sample of rows among all rows.
    """
    options = {"random_state": parts.seed} if parts.is_large else {}
    curves = {"map against data": r_nx(None, parts.positions, metric=parts.data, **options)}
    if isinstance(parts.metric, FisherMetric):
        curves["map against Fisher metric"] = r_nx(None, parts.positions, metric=parts.metric, **options)
        curves["unsupervised map against data"] = r_nx(None, unsupervised.positions, metric=parts.data, **options)
    return curves


def bandwidths(model):
    """Kernel widths worth knowing."""
    return {"Fisher metric": model.metric_.bandwidth_} if isinstance(model.metric_, FisherMetric) else {}


def posterior_words(model):
    """The estimate of the target's distribution, in words."""
    return model.metric_.describe() if isinstance(model.metric_, FisherMetric) else None


def settings_of(model):
    """The constructor's settings, as text where they are objects."""
    plain = (str, int, float, bool, type(None))
    taken = {"mapping taken": mapping_words(model.parts_.mapping)} if model.mapping == "auto" else {}
    if isinstance(model.supervision, str):
        taken["supervision taken"] = model.supervision_
    given = {k: v if isinstance(v, plain) else repr(v) for k, v in model.get_params(deep=False).items()}
    return given | taken


def mapping_words(mapping):
    """What "auto" took."""
    return "kernels" if isinstance(mapping, KernelMap) else "votes"


def notes_of(model):
    """What a reader should know about how the map was made."""
    n_given, n_fit = model.rows_.shape[0], len(model.fit_rows_)
    parts, notes = model.parts_, list(model.notes_)
    if n_fit < n_given:
        notes.append(f"{n_fit} of {n_given} rows were embedded; the others were placed on the map.")
    if isinstance(parts.data, SimilarityMetric) and parts.data.repaired_.negative_mass > 1e-9:
        mass, method = parts.data.repaired_.negative_mass, parts.data.repair
        notes.append(f"{100 * mass:.1f} % of the similarity's mass was negative; repair: {method}.")
    if parts.is_large:
        notes.append(
            f"Large map: neighbours by {parts.story.get('neighbors')}; new rows are placed by {len(parts.anchors)} "
            f"landmarks; structure is judged on a sample of rows, and refits for judging take {DENSE_ROWS} rows."
        )
    if isinstance(parts.metric, FisherMetric) and not parts.metric.cross_fit:
        notes.append("cross_fit=False: rows were judged with their own labels in the density, as published.")
    return (*notes, *published_notes(model), *column_notes(model))


def published_notes(model):
    """Whether the published metric, without a share of the data's own, tells the target worse than the latter."""
    parts = model.parts_
    fisher = isinstance(parts.metric, FisherMetric) and parts.metric.supervision == 1 and not parts.is_large
    if not fisher or not parts.metric.cross_fit:
        return ()
    own, pure = (
        one["score"] for one in compared_with_own(parts.metric, parts.data, model.fitted_target(), model.seed_)
    )
    if model.target_ == "class":
        worse, told = (
            pure < own,
            f"tell {100 * own:.0f} % of the rows right in the data and {100 * pure:.0f} % under it",
        )
    else:
        worse, told = pure > own, f"have an nRMSE of {own:.2f} in the data and of {pure:.2f} under it"
    if not worse:
        return ()
    return (
        f"supervision=1 is the published metric, and here it is worse than none: ten neighbours {told}, out of fold. "
        "supervision='max' is the sharpest map that keeps a share of the data's own distances.",
    )
