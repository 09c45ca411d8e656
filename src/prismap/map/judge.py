"""How a map is judged: on rows that took no part, beside its unsupervised twin and twins with permuted targets."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from prismap._random import as_generator
from prismap._threads import n_threads
from prismap.exceptions import PrismapWarning
from prismap.map.build import DENSE_ROWS, Built, build, distances_among
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
    overlapping_pairs,
    r_nx,
)

#: Rows given to `fit` but not fitted are enough to judge by from here on; below, the map is refitted in folds.
FEWEST_HELD_OUT = 200
MOST_HELD_OUT = 5000
#: A fifth of the rows is enough to judge by from here on; below, all five fifths are.
FEWEST_IN_ONE_FOLD = 300
#: Maps of permuted targets need not be larger than this to show what the method invents.
MOST_PERMUTED_ROWS = 2000


@dataclass(frozen=True)
class Twins:
    """Maps of the same rows without a target and with a permuted one, and that permuted target."""

    unsupervised: Built
    permuted: Built | None = None
    permuted_target: np.ndarray | None = None
    permuted_rows: np.ndarray | None = None


@dataclass(frozen=True)
class Placed:
    """Judged rows on a map: their positions and targets, and those of the rows that vote."""

    positions: np.ndarray
    target: np.ndarray
    fitted_positions: np.ndarray
    fitted_target: np.ndarray


def judge(model, *, n_permutations=None, callback=None):
    """The report of a fitted `PrisMap`, and its twins."""
    start = perf_counter()
    X, y = model.fitted_rows(), model.fitted_target()
    built = model._built
    recipe = model._recipe().twin_of(built)
    scores, overlaps, judged, n_judged = (), None, "in-sample", 0
    twins = Twins(built)
    if model.target_ != "none":
        rng = as_generator(model.seed_ + 1)
        n_permutations = n_permutations or (2 if built.geometry.n_rows > 600 else 5)
        shuffles = [permuted_part(X, y, recipe.data, rng) for _ in range(n_permutations)]
        held_out = held_out_rows(model, rng)
        folds = [] if len(held_out) >= FEWEST_HELD_OUT else judged_folds(y, model.target_, rng)
        shuffled = [permute_known(y, rng) for _ in folds]
        jobs: list[tuple[Any, ...]] = [(build, recipe.unsupervised(), X)]
        jobs += [(build, recipe.quick(), part, target) for part, target, _ in shuffles]
        for (kept, out), target in zip(folds, shuffled, strict=True):
            jobs.append((refit, recipe.quick(), X, y, kept, out))
            jobs.append((refit, recipe.quick().unsupervised(), X, y, kept, out))
            jobs.append((refit, recipe.quick(), X, target, kept, out))
        done = run_side_by_side(jobs, model.n_jobs, callback)
        permuted = [(one, target, rows) for one, (_, target, rows) in zip(done[1:], shuffles, strict=False)]
        twins = Twins(done[0], *permuted[0])
        judged = "cross-validation" if folds else "held-out rows"
        cases = [done[1 + n_permutations + k :: 3] for k in range(3)]
        if not folds:
            cases = held_out_cases(model, held_out, twins.unsupervised, permuted, rng)
        scores, n_judged = score_cases(model.target_, built, y, permuted, cases, folded=bool(folds))
        if model.target_ == "class":
            overlaps = map_overlaps(cases[0], model.classes_)
    report = MapReport(
        target=model.target_, n_fitted=built.geometry.n_rows, n_judged=n_judged, judged=judged, scores=scores,
        structure=structure_curves(built, twins.unsupervised), overlaps=overlaps, bandwidths=bandwidths(built),
        posterior=posterior_words(built), seed=model.seed_, versions=current_versions(),
        times={**built.times, "judging": perf_counter() - start}, settings=settings_of(model), notes=notes_of(model),
    )  # fmt: skip
    return report, twins


def run_side_by_side(jobs, n_jobs, callback=None):
    """Results of ``job[0](*job[1:])``, on all cores: one thread a map, none of which splits its matrix products.

    `callback(done, all)` counts the maps.
    """
    done = []
    with (
        warnings.catch_warnings(),
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(n_threads(n_jobs)) as pool,
    ):
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


def permuted_part(X, y, data, rng):
    """At most `MOST_PERMUTED_ROWS` of the rows with a permuted target: (rows of X, target, indices)."""
    rows = np.arange(X.shape[0])
    if len(rows) > MOST_PERMUTED_ROWS:
        rows = np.sort(rng.choice(rows, MOST_PERMUTED_ROWS, replace=False))
    return X[rows] if data == "vectors" else X[np.ix_(rows, rows)], permute_known(y[rows], rng), rows


def permute_known(y, rng):
    """The target with its known entries permuted."""
    known = np.flatnonzero(known_targets(y))
    shuffled = y.copy()
    shuffled[known] = y[rng.permutation(known)]
    return shuffled


def held_out_rows(model, rng):
    """Labelled rows that were given to `fit` and not fitted, at most `MOST_HELD_OUT`."""
    others = np.setdiff1d(np.flatnonzero(known_targets(model._y)), model.fit_rows_)
    return np.sort(rng.choice(others, MOST_HELD_OUT, replace=False)) if len(others) > MOST_HELD_OUT else others


def held_out_cases(model, held_out, unsupervised, permuted, rng):
    """The judged rows on the map, on its unsupervised twin, and on the maps of permuted targets."""
    rows, y = model.entries(model._rows[held_out]), model._y[held_out]
    fitted = model.fitted_target()
    cases = [[Placed(one.place(rows)[0], y, one.positions, fitted)] for one in (model._built, unsupervised)]
    placed = []
    for one, shuffled, index in permuted:
        part = rows if model.data == "vectors" else rows[:, index]
        placed.append(Placed(one.place(part)[0], permute_known(y, rng), one.positions, shuffled))
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


def refit(recipe, X, y, kept, out):
    """Rows `out` on a map of the rows `kept`."""
    if recipe.data == "vectors":
        built, rows = build(recipe, X[kept], y[kept]), X[out]
    else:
        built, rows = build(recipe, X[np.ix_(kept, kept)], y[kept]), X[np.ix_(out, kept)]
    return Placed(built.place(rows)[0], y[out], built.positions, y[kept])


def min_class(y):
    """Size of the smallest class."""
    return int(np.unique(y, return_counts=True)[1].min())


def error_of(target, n_neighbors, positions, y, fitted_positions=None, fitted_y=None):
    """1-NN or k-NN error of classes, nRMSE of a real target, mean nRMSE of several."""
    if y.ndim == 2:
        columns = zip(y.T, [None] * y.shape[1] if fitted_y is None else fitted_y.T, strict=True)
        parts = [error_of(target, n_neighbors, positions, one, fitted_positions, other) for one, other in columns]
        # The same rows were judged for every target: their errors are not independent.
        return Estimate(float(np.mean([float(part) for part in parts])), float(np.mean([p.spread for p in parts])))
    measure = knn_error if target == "class" else knn_nrmse
    return measure(positions, y, n_neighbors=n_neighbors, Y_fit=fitted_positions, y_fit=fitted_y)


def joint(target, n_neighbors, placed):
    """The error over several sets of judged rows, with the standard error of all of them together."""
    parts = [error_of(target, n_neighbors, p.positions, p.target, p.fitted_positions, p.fitted_target) for p in placed]
    sizes = np.array([len(p.target) for p in placed], dtype=float)
    spread = np.sqrt(np.sum((sizes * [part.spread for part in parts]) ** 2)) / sizes.sum()
    return Estimate(float(np.average([float(part) for part in parts], weights=sizes)), float(spread))


def score_cases(target, built, y, permuted, cases, *, folded):
    """The scores of the report, and how many rows they were judged on."""
    on_map, on_unsupervised, on_permuted = cases
    names = {1: "1-NN error", 5: "5-NN error"} if target == "class" else {5: "nRMSE"}
    if y.ndim == 2:
        names = {5: f"mean nRMSE of {y.shape[1]} targets"}
    scores = []
    for k, name in names.items():
        k = min(k, *(len(p.fitted_target) - 1 for p in on_map))
        chance = float(chance_error(y, n_neighbors=k)) if target == "class" else float(chance_nrmse(k))
        # Folds judge few rows each: together they make one figure. Placed rows make one a permutation.
        groups = [on_permuted] if folded else [[p] for p in on_permuted]
        null = tuple(float(joint(target, k, group)) for group in groups)
        inside = tuple(float(error_of(target, k, one.positions, shuffled)) for one, shuffled, _ in permuted)
        score = TargetScore(
            name=name, value=joint(target, k, on_map), chance=chance,
            in_sample=error_of(target, k, built.positions, y), unsupervised=joint(target, k, on_unsupervised),
            permuted=NullResult(null, chance), permuted_in_sample=NullResult(inside, chance),
        )  # fmt: skip
        scores.append(score)
    return tuple(scores), sum(len(p.target) for p in on_map)


def map_overlaps(placed, classes):
    """Pairs of classes that are mixed among the judged rows."""
    # Rows of different folds lie on different maps: each votes on its own, the shares are averaged.
    shares = [class_overlap(p.positions, p.target, Y_fit=p.fitted_positions, y_fit=p.fitted_target)[0] for p in placed]
    return overlapping_pairs(np.mean(shares, axis=0), [str(name) for name in classes])


def structure_curves(built, unsupervised):
    """Neighbourhood preservation of the map against the data, of its twin, and against the Fisher metric."""
    if built.geometry.n_rows > DENSE_ROWS:
        return sampled_curves(built, unsupervised)
    D = distances_among(built.metric, np.arange(built.geometry.n_rows), by_fisher=False)
    curves = {"map against data": r_nx(D, built.positions, metric="precomputed")}
    if built.recipe.target != "none":
        curves["map against Fisher metric"] = r_nx(built.metric.pairwise(), built.positions, metric="precomputed")
        curves["unsupervised map against data"] = r_nx(D, unsupervised.positions, metric="precomputed")
    return curves


def sampled_curves(built, unsupervised):
    """The same curves of a large map, each from the neighbourhoods of a sample of rows among all rows."""
    seed = built.recipe.seed
    own = unsupervised.metric  # supervision 0: the data's own geometry
    curves = {"map against data": r_nx(None, built.positions, metric=own, random_state=seed)}
    if built.recipe.target != "none":
        curves["map against Fisher metric"] = r_nx(None, built.positions, metric=built.metric, random_state=seed)
        curves["unsupervised map against data"] = r_nx(None, unsupervised.positions, metric=own, random_state=seed)
    return curves


def bandwidths(built):
    """Kernel widths worth knowing."""
    if built.recipe.target == "none":
        return {}
    return {"Fisher metric": built.metric.bandwidth_}


def posterior_words(built):
    """The estimate of the target's distribution, in words."""
    if built.recipe.target == "none":
        return None
    return built.metric.describe()


def settings_of(model):
    """The constructor's settings, as text where they are objects."""
    plain = (str, int, float, bool, type(None))
    return {k: v if isinstance(v, plain) else repr(v) for k, v in model.get_params(deep=False).items()}


def notes_of(model):
    """What a reader should know about how the map was made."""
    n_given, n_fit = model._rows.shape[0], len(model.fit_rows_)
    notes = []
    if n_fit < n_given:
        notes.append(f"{n_fit} of {n_given} rows were embedded; the others were placed on the map.")
    if model.data == "similarity" and model.metric_.geometry_.repair.negative_mass > 1e-9:
        repair = model.metric_.geometry_.repair
        notes.append(
            f"{100 * repair.negative_mass:.1f} % of the similarity's mass was negative; repair: {repair.method}."
        )
    if n_fit > DENSE_ROWS:
        notes.append(
            f"Large map: neighbours by {model._built.story.get('neighbors')}; new rows are placed by "
            f"{len(model._built.anchors)} landmarks; structure is judged on a sample of rows, and refits for judging "
            f"take {DENSE_ROWS} rows."
        )
    if not model.cross_fit and model.target_ != "none":
        notes.append("cross_fit=False: rows were judged with their own labels in the density, as published.")
    return tuple(notes)
