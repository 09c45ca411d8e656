"""The maps that a map is compared with: the same estimator with other parameters, fitted to other targets or rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import KFold, StratifiedKFold

from prismap._random import as_generator
from prismap._threads import pool_of_threads
from prismap._validation import changed
from prismap.exceptions import PrismapWarning
from prismap.map.effort import FEW_KEPT, FULL, MOST_KEPT
from prismap.map.make import MAPPINGS, make_embedding, needs_target
from prismap.map.parts import DENSE_ROWS, MapParts
from prismap.map.quick import Known, ShortTSNE
from prismap.map.scores import Judged
from prismap.map.trust import are_right, evidence
from prismap.mappings import KernelMap, MapCost
from prismap.metrics import FisherMetric
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
    nulls: tuple[np.ndarray, ...] = ()
    """Positions on maps of one Gaussian each, and of a permuted target if there is one."""


def twins_of(model, effort=FULL):
    """The map made again in a short time, and without a target: as parameters that change.

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
        options = {"bandwidth": found.factor_, "ridge": found.ridge_}
        options |= {"solver": MapCost(perplexity=model.perplexity)} if mapping == "cost" else {}
        same["mapping"] = changed(named, **options, random_state=model.seed_)
    plain = {**same, "target": "none", "metric": "fisher"}
    if by_kernels:
        plain["mapping"] = "vote"
    if needs_target(model.method):
        plain["method"] = "tsne"
    return (
        {**same, "method": twin_method(model, model.method, None)},
        {**plain, "method": twin_method(model, plain.get("method", model.method), effort.plain_iter)},
    )


def twin_method(model, method, max_iter):
    """The embedding of a twin: t-SNE by name in so many iterations, or a short one; any other as it is."""
    settings = {"perplexity": model.perplexity, "seed": model.seed_}
    if isinstance(method, str) and method == "tsne" and max_iter is None:
        return ShortTSNE(perplexity=model.perplexity, random_state=model.seed_)
    return make_embedding(method, **settings, **({} if max_iter is None else {"max_iter": max_iter}))


def fit_twin(model, params, target, rows, plain=None):
    """The parts of a twin that is fitted to some of the model's fitted rows; `plain` as in `with_known`."""
    return (
        changed(model, **with_known(params, plain, rows))
        .fit(model.parts_.data.cut(model.fitted_rows(), rows), target)
        .parts_
    )


def with_known(params, plain, rows):
    """The parameters of a twin that takes these rows' positions from the map without a target, `plain`.

    It does so where the evidence leaves its target out: what would be made then is that map.
    """
    if plain is None or not isinstance(params["method"], ShortTSNE):
        return params
    return {**params, "method": changed(params["method"], known=plain.positions[rows])}


def place_fold(model, params, y, kept, out, trusted=False, plain=None):
    """Rows `out` on a twin of the rows `kept`; with `trusted` also what shows how far each of them can be trusted."""
    data, rows = model.parts_.data, model.fitted_rows()
    twin = changed(model, **with_known(params, plain, kept)).fit(data.cut(rows, kept), y[kept])
    if trusted and twin.target_ == "none":
        twin.set_params(target=model.target).remember_target(y[kept])
    new = data.entries(rows[out], kept)
    a_run = twin.parts_.story["stop_reason"] != "known"  # positions of a map that is there are no other run
    found = Judged(twin.parts_.place(new)[0], y[out], twin.embedding_, y[kept], kept if a_run else None)
    if not trusted:
        return found
    seen = evidence(twin, found.positions, new)
    truth = shown_column(y[out], model.target_)
    if shown_kind(model.target_) == "class":  # classes that none of the kept rows has: no neighbour is right about them
        classes = twin.shown_classes()
        truth = np.where(np.isin(truth, classes), np.searchsorted(classes, truth), -1)
    return replace(found, evidence=seen, right=are_right(twin, seen.said, truth))


def place_on_plain(model, params, plain, y, kept, out):
    """Rows `out` on the map without a target as if they had not been on it: by votes of the rows `kept`, as they lie.

    No target had a part in that map, so that it need not be made again without these rows, unless their own projection
    is another one than votes.
    """
    if params.get("mapping", model.mapping) == "vote":
        params = {**params, "method": Known(plain.positions[kept])}
    return place_fold(model, params, y, kept, out, leaves_target_out(model))


def leaves_target_out(model):
    """Whether the map is one without a target, for want of evidence."""
    return model.parts_.metric is model.parts_.data and not needs_target(model.method)


def has_columns(parts):
    """Whether the data have columns that can be permuted, or drawn from a Gaussian."""
    vectors = not parts.data.is_matrix and not sp.issparse(parts.rows) and parts.data.is_complete
    return vectors and len(parts.positions) <= DENSE_ROWS


def fit_null(model, effort):
    """The parts of a map of the same columns, each permuted by itself: what neighbourhoods chance keeps."""
    rng, rows = as_generator(model.seed_ + 2), model.fitted_rows()
    nothing = np.column_stack([rng.permutation(column) for column in rows.T])
    return changed(model, **twins_of(model, effort)[1]).fit(nothing).parts_


def fit_nulls(model, params, effort, shares=()):
    """Positions on maps like this one, each of one Gaussian and of a permuted target if there is one.

    shares : how much permuted targets of the data themselves count, by the evidence, on the maps that were made of
        them. This target is as meaningless, and gets the share of one of these.
    """
    rng, y, found = as_generator(model.seed_ + 4), model.fitted_target(), []
    for turn in range(effort.nulls):
        part = np.sort(rng.permutation(model.parts_.data.n_rows_)[: effort.null_rows])
        shuffled = None if y is None else permute_known(y[part], rng)
        if len(shares) and not needs_target(model.method):
            params = {**params, "supervision": shares[turn % len(shares)]}
        twin = changed(model, **params).fit(one_gaussian(model.fitted_rows()[part], rng), shuffled)
        found.append(twin.embedding_)
    return tuple(found)


def share_of(parts):
    """How much the target counts on a map."""
    return float(parts.metric.supervision) if isinstance(parts.metric, FisherMetric) else 0.0


def another_run(model, params, turn=0):
    """(which, where) of a map of four fifths of the fitted rows, others in every turn."""
    rng, n_rows = as_generator(model.seed_ + 3 + 1000 * turn), model.parts_.data.n_rows_
    kept = kept_rows(n_rows, rng.permutation(n_rows)[: n_rows // 5], rng)
    y = model.fitted_target()
    return kept, fit_twin(model, params, None if y is None else y[kept], kept).positions


def counting(callback, total):
    """A callback for several rounds of `run_side_by_side`, which counts on to `total`."""
    done = count(1)
    return None if callback is None else lambda *_: callback(next(done), total)


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
    rows = drawn_of(rows, most, rng)
    return permute_known(y[rows], rng), rows


def permute_known(y, rng):
    """The target with its known entries permuted."""
    known = np.flatnonzero(known_targets(y))
    shuffled = y.copy()
    shuffled[known] = y[rng.permutation(known)]
    return shuffled


def held_out_rows(model, rng, most=FULL.held_out):
    """Labelled rows that were given to `fit` and not fitted, at most `most`."""
    return drawn_of(np.setdiff1d(np.flatnonzero(known_targets(model.y_)), model.fit_rows_), most, rng)


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


def judged_folds(y, target, rng, effort=FULL, wrong=0.5):
    """(kept, judged) rows: of five fifths of the labelled rows as many as the figures take.

    wrong : about the share of rows that neighbours are wrong about. It is told by the fitted rows, so that no judged
        row has a say in how many there will be.
    """
    known = np.flatnonzero(known_targets(y))
    kind = StratifiedKFold if target == "class" and min_class(y[known]) >= 5 else KFold
    split = kind(5, shuffle=True, random_state=int(rng.integers(2**31))).split(known, y[known])
    most = min(DENSE_ROWS, MOST_KEPT, max(FEW_KEPT, int(effort.kept_share * len(y))))
    folds = [(kept_rows(len(y), known[out], rng, most), known[out]) for _, out in split]
    folds = folds[: n_folds(len(known), effort, wrong)]
    return [(kept, drawn_of(out, effort.held_out, rng)) for kept, out in folds]


def n_folds(n_known, effort, wrong=0.5):
    """How many fifths of the rows are judged: two, unless one is enough or a share is not precise enough by then.

    A table that has no more rows than are enough in any case is judged as a whole: few judged rows would call real
    differences chance, and its maps take no time.

    >>> n_folds(1500, FULL), n_folds(700, FULL), n_folds(700, FULL, 0.05), n_folds(200, FULL, 0.05)
    (1, 3, 2, 5)
    """
    if n_known <= effort.judged_rows:
        return 5
    wrong = (wrong * n_known + 1) / (n_known + 2)  # none seen is not none at all
    wanted = min(effort.judged_rows, wrong * (1 - wrong) / effort.precision**2)
    fewest = 1 if n_known / 5 >= effort.judged_rows else 2
    return int(np.clip(np.ceil(5 * wanted / n_known), fewest, 5))


def kept_rows(n_rows, out, rng, most=MOST_KEPT):
    """All rows but `out`; of many a draw that is fitted in a fraction of the time, and errs on the safe side."""
    return drawn_of(np.setdiff1d(np.arange(n_rows), out), most, rng)


def drawn_of(rows, most, rng):
    """The rows, or a draw of so many of them, in their order."""
    return np.sort(rng.choice(rows, most, replace=False)) if len(rows) > most else rows


def min_class(y):
    """Size of the smallest class."""
    return int(np.unique(y, return_counts=True)[1].min())
