"""The maps that a map is compared with: the same estimator with other parameters, fitted to other targets or rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import KFold, StratifiedKFold

from prismap._random import as_generator
from prismap._threads import pool_of_threads
from prismap._validation import changed
from prismap.exceptions import PrismapWarning
from prismap.map.effort import FULL
from prismap.map.make import MAPPINGS, make_embedding, needs_target
from prismap.map.parts import DENSE_ROWS, MapParts
from prismap.map.scores import Judged
from prismap.map.trust import are_right, evidence
from prismap.mappings import KernelMap
from prismap.metrics.several import shown_column, shown_kind
from prismap.metrics.target import known_targets
from prismap.quality import one_gaussian


@dataclass(frozen=True)
class Twins:
    """Maps of the same rows without a target and with a permuted one, and that permuted target."""

    unsupervised: MapParts
    permuted: MapParts | None = None
    permuted_target: np.ndarray | None = None
    permuted_rows: np.ndarray | None = None
    judged: tuple[Judged, ...] = ()
    """The judged rows on the map, or on maps of the others."""
    runs: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    """Other maps of the same target: which of the fitted rows they have, and where."""
    gaussian: MapParts | None = None
    """A map of one Gaussian, and of a permuted target if there is one."""


def twins_of(model, effort=FULL):
    """The map made again in fewer iterations, without a target, and both: as parameters that change.

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
    settings = {"perplexity": model.perplexity, "seed": model.seed_}
    named = plain.get("method", model.method)
    return (
        {**same, "method": make_embedding(model.method, n_iter=effort.n_iter, **settings)},
        {**plain, "method": make_embedding(named, n_iter=effort.plain_iter, **settings)},
        {**plain, "method": make_embedding(named, n_iter=effort.n_iter, **settings)},
    )


def fit_twin(model, params, target, rows):
    """The parts of a twin that is fitted to some of the model's fitted rows."""
    return changed(model, **params).fit(model.parts_.data.cut(model.fitted_rows(), rows), target).parts_


def place_fold(model, params, y, kept, out, trusted=False):
    """Rows `out` on a twin of the rows `kept`; with `trusted` also what shows how far each of them can be trusted."""
    data, rows = model.parts_.data, model.fitted_rows()
    twin = changed(model, **params).fit(data.cut(rows, kept), y[kept])
    new = data.entries(rows[out], kept)
    found = Judged(twin.parts_.place(new)[0], y[out], twin.embedding_, y[kept], kept)
    if not trusted:
        return found
    seen = evidence(twin, found.positions, new)
    truth = shown_column(y[out], model.target_)
    if shown_kind(model.target_) == "class":  # classes that none of the kept rows has: no neighbour is right about them
        classes = twin.shown_classes()
        truth = np.where(np.isin(truth, classes), np.searchsorted(classes, truth), -1)
    return replace(found, evidence=seen, right=are_right(twin, seen.said, truth))


def without_refit(plain, y, kept, out):
    """Judged rows where the map without a target has them: it has not seen their target either."""
    return Judged(plain.positions[out], y[out], plain.positions[kept], y[kept])


def has_columns(parts):
    """Whether the data have columns that can be permuted, or drawn from a Gaussian."""
    vectors = not parts.data.is_matrix and not sp.issparse(parts.rows) and parts.data.is_complete
    return vectors and len(parts.positions) <= DENSE_ROWS


def fit_null(model, effort):
    """The parts of a map of the same columns, each permuted by itself: what neighbourhoods chance keeps."""
    rng, rows = as_generator(model.seed_ + 2), model.fitted_rows()
    nothing = np.column_stack([rng.permutation(column) for column in rows.T])
    return changed(model, **twins_of(model, effort)[1]).fit(nothing).parts_


def fit_gaussian(model, params, effort):
    """The parts of a map like this one, of one Gaussian and of a permuted target if there is one."""
    rng, y, rows = as_generator(model.seed_ + 4), model.fitted_target(), np.arange(model.parts_.data.n_rows_)
    part = np.sort(rng.permutation(rows)[: effort.permuted_rows])
    shuffled = None if y is None else permute_known(y[part], rng)
    return changed(model, **params).fit(one_gaussian(model.fitted_rows()[part], rng), shuffled).parts_


def another_run(model, params):
    """(which, where) of a map of four fifths of the fitted rows."""
    rng, n_rows = as_generator(model.seed_ + 3), model.parts_.data.n_rows_
    kept = kept_rows(n_rows, rng.permutation(n_rows)[: n_rows // 5], rng)
    y = model.fitted_target()
    return kept, fit_twin(model, params, None if y is None else y[kept], kept).positions


def run_side_by_side(jobs, callback=None):
    """Results of ``job[0](*job[1:])``, on all cores: one thread per map, none of which splits its matrix products.

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


def permuted_part(y, rng, rows=None, most=FULL.permuted_rows):
    """A permuted target of at most `most` of the rows: (target, indices)."""
    rows = np.arange(len(y)) if rows is None else rows
    if len(rows) > most:
        rows = np.sort(rng.choice(rows, most, replace=False))
    return permute_known(y[rows], rng), rows


def permute_known(y, rng):
    """The target with its known entries permuted."""
    known = np.flatnonzero(known_targets(y))
    shuffled = y.copy()
    shuffled[known] = y[rng.permutation(known)]
    return shuffled


def held_out_rows(model, rng, most=FULL.held_out):
    """Labelled rows that were given to `fit` and not fitted, at most `most`."""
    others = np.setdiff1d(np.flatnonzero(known_targets(model.y_)), model.fit_rows_)
    return np.sort(rng.choice(others, most, replace=False)) if len(others) > most else others


def held_out_cases(model, held_out, unsupervised):
    """The held-out rows on the map, and on the one without a target."""
    rows, y = model.entries(model.rows_[held_out]), model.y_[held_out]
    fitted = model.fitted_target()
    on_map, on_plain = (Judged(one.place(rows)[0], y, one.positions, fitted) for one in (model.parts_, unsupervised))
    seen = evidence(model, on_map.positions, rows)
    return [replace(on_map, evidence=seen, right=are_right(model, seen.said, y))], [on_plain]


def permuted_cases(model, permuted, judged, y, rng):
    """Judged rows on maps of permuted targets, with a permuted target of their own.

    `judged` gives for each map its rows by their entries against all fitted ones, and which of y they are.
    """
    cases = []
    for (one, shuffled, index), (rows, which) in zip(permuted, judged, strict=True):
        Y = one.place(model.parts_.data.entries(rows, index))[0]
        cases.append(Judged(Y, permute_known(y[which], rng), one.positions, shuffled))
    return cases


def judged_folds(y, target, rng, fewest_in_one=FULL.fewest_in_one_fold):
    """(kept, judged) rows: a fifth of the labelled rows is judged if that is many, each of the five otherwise."""
    known = np.flatnonzero(known_targets(y))
    kind = StratifiedKFold if target == "class" and min_class(y[known]) >= 5 else KFold
    split = kind(5, shuffle=True, random_state=int(rng.integers(2**31))).split(known, y[known])
    folds = [(kept_rows(len(y), known[out], rng), known[out]) for _, out in split]
    return folds[:1] if len(known) / 5 >= fewest_in_one else folds


def kept_rows(n_rows, out, rng):
    """All rows but `out`; of a large map a draw that is fitted in a fraction of the time, and errs on the safe side."""
    kept = np.setdiff1d(np.arange(n_rows), out)
    return np.sort(rng.choice(kept, DENSE_ROWS, replace=False)) if len(kept) > DENSE_ROWS else kept


def min_class(y):
    """Size of the smallest class."""
    return int(np.unique(y, return_counts=True)[1].min())
