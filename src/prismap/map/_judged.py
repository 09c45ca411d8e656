"""A fitted map as what is judged: how it is made again, and what its report says of how it was made.

A map for comparison is made by `fit_map` from the same recipe with a few parameters changed, so nothing in it can
differ from a map that a user would make.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.neighbors import NearestNeighbors

from prismap._util.arrays import Numbers, Rows
from prismap._util.missing import mean_filled
from prismap._util.threads import pool_of_threads
from prismap._util.validation import changed
from prismap.exceptions import PrismapWarning
from prismap.judging._budget import FULL, MOST_KEPT, Effort
from prismap.judging._dependence import dependence_findings
from prismap.judging._judge import Judgement, Subject
from prismap.judging._makers import Made, Maker
from prismap.judging._refits import Outside
from prismap.judging._trust import evidence_for, trust_in_own_rows
from prismap.map._choose import MOST_KERNEL_ROWS, compared_with_own
from prismap.map._columns import column_findings
from prismap.map._fitted import DENSE_ROWS, FittedMap
from prismap.map._fitting import fit_map, without_watching
from prismap.map._methods import MAPPINGS, arrangement_of, make_embedding, needs_target, with_arrangement
from prismap.map._mislabelled import mislabelled_finding, mislabelled_rows
from prismap.map._quick import Known, ShortTSNE
from prismap.map._recipe import Given, Recipe
from prismap.map._refit import medoids_of
from prismap.mappings import KernelMap, MapCost
from prismap.metrics import FisherMetric, SimilarityMetric
from prismap.metrics._geometry import data_metric
from prismap.quality import Estimate, Trust
from prismap.quality._statements import Statement
from prismap.quality._trust import TrustRule
from prismap.quality._verdict import POSTERIOR_ERROR
from prismap.quality._votes import mean_on
from prismap.target import ClassTarget, NoTarget, Target

#: Rows nearby that show how well a number is known where a row is.
NEARBY = 30


@dataclass(frozen=True)
class LevelRows:
    """Rows as they were given, with their levels: each map has its own estimate of what these shift."""

    rows: Any
    levels: Rows


class MadeMap(Made):
    """A fitted map of some of the judged rows, which knows new ones by their entries against all judged rows."""

    def __init__(self, fitted: FittedMap, rows: Rows | None = None) -> None:
        self.fitted, self.rows = fitted, rows
        self.positions = fitted.positions
        self.is_a_run = fitted.story.get("stop_reason") != "known"

    def _entries(self, rows: Any) -> Any:
        """Vectors as they are, of matrix data the columns of the map's rows, and rows with levels without them."""
        if isinstance(rows, LevelRows):
            return self.fitted.entries(rows.rows, rows.levels)
        return rows if self.rows is None else self.fitted.data.entries(rows, self.rows)

    def place(self, rows: Any) -> Numbers:
        """Where the map's own mapping puts them."""
        return np.asarray(self.fitted.located(self._entries(rows))[0])

    @property
    def space(self) -> tuple[Any, Any]:
        """The metric of the map, between its fitted rows."""
        return None, self.fitted.metric

    def in_data(self, rows: Any) -> dict[str, Any]:
        """Neighbours under the metric of the map."""
        return {"Y": None if rows is None else self._entries(rows), "fitted_Y": None, "metric": self.fitted.metric}

    def in_own_data(self, rows: Any = None) -> dict[str, Any]:
        """Neighbours by the data's own distances."""
        return {**self.in_data(rows), "metric": self.fitted.data}

    def kept(self, rows: Any, Y: Numbers | None, k: int) -> Numbers:
        """Of new rows."""
        in_metric = np.asarray(self.fitted.metric.kneighbors(self._entries(rows), k)[1])
        on_map = NearestNeighbors(n_neighbors=k).fit(self.positions).kneighbors(Y, return_distance=False)
        return np.asarray((in_metric[:, :, None] == on_map[:, None, :]).any(axis=2).mean(axis=1))

    def support(self, predicted: NDArray[Any], rows: Any, target: Target) -> Numbers:
        """The posterior of the metric, out of fold for the map's own rows; without one, the nearest rows in the data.

        Of a number it is the chance of a value that the prediction does not miss.
        """
        metric = self.fitted.metric
        if not isinstance(metric, FisherMetric) or metric.posterior_ is None:
            return super().support(predicted, rows, target)
        rows = None if rows is None else self._entries(rows)
        if target.codes is not None:
            P, classes = class_posterior(metric, rows)
            place = {str(name): k for k, name in enumerate(classes)}
            columns = np.array([place.get(str(name), 0) for name in target.classes])
            return np.asarray(P[np.arange(len(predicted)), columns[predicted]])
        mean, variance = number_posterior(metric, rows)
        width = self._width_here(rows, np.sqrt(np.maximum(variance, np.finfo(float).tiny)), target)
        above, below = (norm.cdf((predicted + side * target.tolerance - mean) / width) for side in (1, -1))
        return np.asarray(above - below)

    def _width_here(self, rows: Any, width: Numbers, target: Target) -> Numbers:
        """The standard deviation of a number at rows; `width` is that of the posterior, about the same everywhere.

        A number may be known well in one part of the data and not in another. How far the posterior missed the nearest
        rows in the data, out of fold, shows it: of a normal error, ``s = sqrt(pi / 2) E |e|``. It counts as much as it
        predicts the misses of the fitted rows: by the slope of their regression on it, between 0 and 1.
        """
        if self.fitted.is_large:
            return width
        missed = np.abs(target.values - number_posterior(self.fitted.metric, None)[0])
        own, here = (self._mean_nearby(missed, part) for part in (None, rows))
        known = target.labelled
        slope = np.cov(missed[known], own[known])[0, 1] / max(own[known].var(ddof=1), np.finfo(float).tiny)
        share = float(np.clip(slope, 0.0, 1.0))
        wide = (1 - share) * width + share * np.sqrt(np.pi / 2) * here
        return np.asarray(np.maximum(wide, np.finfo(float).tiny))

    def _mean_nearby(self, values: Numbers, rows: Any) -> Numbers:
        """The mean of a number over the nearest rows in the data."""
        mean: Numbers = mean_on(rows, None, values, n_neighbors=NEARBY, metric=self.fitted.data).mean
        return mean


def class_posterior(metric: FisherMetric, rows: Any) -> tuple[Numbers, Any]:
    """Class probabilities of rows (None: the fitted ones), of several targets those of the first; and the classes."""
    if hasattr(metric.posterior_, "probabilities_of"):
        return metric.posterior_.probabilities_of(0, rows), metric.classes_[0]
    return metric.class_probabilities(rows), metric.classes_


def number_posterior(metric: FisherMetric, rows: Any) -> tuple[Numbers, Numbers]:
    """Mean and variance of the first quantity at rows (None: the fitted ones)."""
    several = hasattr(metric.posterior_, "moments_of")
    mean, variance = metric.posterior_.moments_of(0, rows) if several else metric.target_moments(rows)
    return mean[:, 0], variance[:, 0]


class MapMaker(Maker):
    """Makes a fitted map again, of some of its rows, with another target or none.

    Maps that are only counted on are made in a short time. None searches for the smoothness of its kernels anew.
    Without a target a map is often torn, and kernels place new rows badly on such a map; by votes it is judged at its
    best.
    """

    falls_back = True

    def __init__(self, fitted: FittedMap) -> None:
        self.fitted, self.map = fitted, MadeMap(fitted)
        self.name, self.seed, self.n_rows = "prismap", fitted.seed, len(fitted.positions)
        vectors = not fitted.data.is_matrix and not sp.issparse(fitted.rows) and fitted.data.is_complete
        self.columns = fitted.rows if vectors and self.n_rows <= DENSE_ROWS else None
        # What levels shift is estimated with the target, however little that counts.
        by_data = fitted.metric is fitted.data and fitted.shift is None
        self.leaves_target_out = by_data and not needs_target(fitted.recipe.method)
        self.shows_plain = isinstance(fitted.metric, FisherMetric)
        self.is_large, self.most_rows = fitted.is_large, DENSE_ROWS
        self.again = self._again()

    def _again(self) -> Recipe:
        """The recipe of the map with what it has found out already, and with a short embedding."""
        recipe, mapping = self.fitted.recipe, self.fitted.mapping
        wanted = recipe.mapping
        if isinstance(wanted, str) and wanted == "auto":  # as it was taken
            wanted = "fisher" if isinstance(mapping, KernelMap) else "vote"
        named = MAPPINGS.get(wanted) if isinstance(wanted, str) else None
        if isinstance(named, KernelMap) and named.kernel == "rbf":
            options = {"bandwidth": mapping.factor_, "ridge": mapping.ridge_}
            options |= {"solver": MapCost(perplexity=recipe.perplexity)} if wanted == "cost" else {}
            wanted = changed(named, **options, random_state=recipe.seed)
        method = short_method(recipe, known_method(self.fitted), None)
        return recipe.but(mapping=wanted, method=method, fit_rows=self.n_rows)

    def _plain(self, effort: Effort) -> Recipe:
        """The recipe of the map without a target."""
        mapping = self.again.mapping
        by_kernels = isinstance(mapping, KernelMap) and not isinstance(self.fitted.recipe.mapping, KernelMap)
        method = "tsne" if needs_target(self.fitted.recipe.method) else known_method(self.fitted)
        return self.again.but(
            metric="fisher", mapping="vote" if by_kernels else mapping, supervision=0.0,
            method=short_method(self.fitted.recipe, method, effort.plain_iter),
        )  # fmt: skip

    def _fit(self, recipe: Recipe, rows: Any, target: Target, index: Rows | None) -> MadeMap:
        data = data_metric(recipe.data)
        every = np.arange(len(target))
        given = Given(rows, target, every, every, self.fitted.given.feature_names, self.fitted.given.n_features)
        return MadeMap(fit_map(recipe, data, given, callback=without_watching), index)

    def _of_part(self, recipe: Recipe, index: Rows, target: Target) -> MadeMap:
        return self._fit(recipe, self.fitted.data.cut(self.fitted.given_rows, index), target, index)

    def rows(self, index: Rows) -> Any:
        """Fitted rows as they were given, of matrix data with their entries against all fitted ones."""
        rows = self.fitted.given_rows[index]
        return rows if self.fitted.shift is None else LevelRows(rows, self.fitted.target.levels[index])

    def make(self, index: Rows, target: Target, plain: Made | None = None) -> Made:
        """A short map, which takes its positions from `plain` where the evidence leaves its target out."""
        recipe = self.again
        if plain is not None and isinstance(recipe.method, ShortTSNE) and self.fitted.shift is None:
            recipe = recipe.but(method=changed(recipe.method, known=positions_of(plain, index)))
        return self._of_part(recipe, index, target)

    def make_plain(self, index: Rows, effort: Effort = FULL) -> Made | None:
        """The same recipe without a target."""
        return self._of_part(self._plain(effort), index, self.fitted.target.take(index).absent())

    def plain_of_part(self, plain: Made, index: Rows, effort: Effort) -> Made:
        """The rows as they lie, where others are placed by votes; else made again."""
        recipe = self._plain(effort)
        if isinstance(recipe.mapping, str) and recipe.mapping == "vote":
            recipe = recipe.but(method=Known(positions_of(plain, index)))
        return self._of_part(recipe, index, self.fitted.target.take(index).absent())

    def make_of(
        self, X: Numbers, target: Target | None = None, share: float | None = None, effort: Effort = FULL
    ) -> Made:
        """A short map of other vectors; without a target as that of the data is."""
        if target is None:
            return self._fit(self._plain(effort), X, NoTarget.of(len(X)), None)
        recipe = self.again
        if share is not None and not needs_target(recipe.method):
            recipe = recipe.but(supervision=share)
        if recipe.supervision == 0:
            target = NoTarget.of(len(X))
        return self._fit(recipe, X, target.inside(np.zeros(len(X), dtype=np.intp), 0), None)  # X are of no level

    def share_of(self, made: Made) -> float | None:
        """How much the target counts on a map."""
        assert isinstance(made, MadeMap)
        return float(made.fitted.supervision)

    def run(self, jobs: Sequence[tuple[Any, ...]], callback: Any = None) -> list[Any]:
        """On all cores: one thread per map, none of which splits its matrix products."""
        done = []
        with warnings.catch_warnings(), pool_of_threads() as pool:
            warnings.simplefilter("ignore", PrismapWarning)
            pending = [pool.submit(*job) for job in jobs]
            try:
                for result in pending:
                    done.append(result.result())
                    if callback is not None:
                        callback(len(done), len(jobs))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)  # after an interrupt the other maps are not needed
                raise
        return done


def positions_of(plain: Made, index: Rows) -> Numbers:
    """Positions on the map without a target, by the numbers of the judged rows; of a large map it has some of them."""
    assert isinstance(plain, MadeMap)
    return plain.positions[index if plain.rows is None else np.searchsorted(plain.rows, index)]


def known_method(fitted: FittedMap) -> Any:
    """The embedding of a map with the strength of arrangement that was taken."""
    method = fitted.recipe.method
    return (
        with_arrangement(method, fitted.story.get("arrangement") or 0) if arrangement_of(method) == "auto" else method
    )


def short_method(recipe: Recipe, method: Any, max_iter: int | None) -> Any:
    """The embedding of a map for comparison: t-SNE in so many iterations, or a short one; others as they are."""
    settings: dict[str, Any] = {"perplexity": recipe.perplexity, "seed": recipe.seed}
    if isinstance(method, str) and method == "tsne" and max_iter is None:
        return ShortTSNE(perplexity=recipe.perplexity, random_state=recipe.seed)
    return make_embedding(method, **settings, **({} if max_iter is None else {"max_iter": max_iter}))


# --- the subject ------------------------------------------------------------------------------------------------------


def subject_of(fitted: FittedMap) -> Subject:
    """A fitted map as what is judged."""
    maker = MapMaker(fitted)
    spaces: dict[str, tuple[Any, Any]] = {"data": (None, fitted.data)}
    if isinstance(fitted.metric, FisherMetric):
        spaces["Fisher metric"] = (None, fitted.metric)
    doubted, n_unsure = mislabelled_rows(fitted)
    return Subject(
        maker.map, fitted.target, maker, fitted.seed, spaces, maker.columns, sum(fitted.times.values()),
        outside_of(fitted), {**facts_of(fitted), "mislabelled": doubted}, lambda: notes_of(fitted),
        lambda: (*findings_of(fitted, maker), *mislabelled_finding(doubted, n_unsure, len(fitted.positions))),
        column=None if fitted.given.levels is None else fitted.given.levels.name,
        raw=None if fitted.shift is None or not fitted.data.is_complete else fitted.given_rows,
        filled=filled_columns(fitted),
    )  # fmt: skip


def filled_columns(fitted: FittedMap) -> Any:
    """The columns of vectors that lack values, with means for them; None of all others."""
    if fitted.data.is_matrix or sp.issparse(fitted.rows) or fitted.data.is_complete:
        return None
    return mean_filled(fitted.rows)


def findings_of(fitted: FittedMap, maker: MapMaker) -> tuple[Statement, ...]:
    """What the data themselves make doubtful: columns that give the target away, and rows that are not independent."""
    return (*column_findings(fitted), *dependence_findings(maker.map, fitted.target, fitted.dependence))


def outside_of(fitted: FittedMap) -> Outside | None:
    """The labelled samples that were given, not embedded, and independent of those that were."""
    given = fitted.given
    if not given.target.exists:
        return None
    numbers = given.target.apart(np.setdiff1d(given.target.labelled_rows, given.fitted), given.fitted)

    def rows(index: Rows) -> Any:
        if fitted.shift is not None:
            return LevelRows(given.rows[index], given.target.levels[index])
        return fitted.entries(given.rows[index])

    return Outside(given.target, rows, numbers)


def facts_of(fitted: FittedMap) -> dict[str, Any]:
    """What the report says of how the map was made."""
    fisher = isinstance(fitted.metric, FisherMetric)
    return {
        "bandwidths": {"Fisher metric": fitted.metric.bandwidth_} if fisher else {},
        "posterior": fitted.metric.describe() if fisher else None, "settings": settings_of(fitted),
        "supervision_curve": fitted.supervision_curve, "target_weights": target_weights(fitted),
        "times": fitted.times, "medoids": tuple(medoids_of(fitted)), "measures": posterior_error(fitted),
    }  # fmt: skip


def posterior_error(fitted: FittedMap) -> dict[str, Estimate]:
    """How often the cross-fitted posterior is wrong about a class, as a measure of a report; nothing of numbers."""
    metric, target = fitted.metric, fitted.target
    if not isinstance(metric, FisherMetric) or not metric.cross_fit or not isinstance(target, ClassTarget):
        return {}
    known = target.labelled_rows
    P, classes = class_posterior(metric, None)
    names = np.array([str(name) for name in target.classes])
    wrong = np.array([str(name) for name in classes])[P[known].argmax(axis=1)] != names[target.values[known]]
    return {POSTERIOR_ERROR: Estimate.over_rows(wrong, target.units[known])}


def target_weights(fitted: FittedMap) -> dict[str, float]:
    """How much each of several targets counts in the metric of the map, by name; nothing where none does."""
    target = fitted.target
    if len(target.names) < 2 or not isinstance(fitted.metric, FisherMetric):
        return {}
    return dict(zip(target.names, fitted.metric.posterior_.weights_.tolist(), strict=True))


def settings_of(fitted: FittedMap) -> dict[str, Any]:
    """The constructor's settings, as text where they are objects, and what was taken where they were "auto"."""
    plain, recipe = (str, int, float, bool, type(None)), fitted.recipe
    settings = {name: one if isinstance(one, plain) else repr(one) for name, one in recipe.params.items()}
    if isinstance(recipe.mapping, str) and recipe.mapping == "auto":
        settings["mapping taken"] = "kernels" if isinstance(fitted.mapping, KernelMap) else "votes"
        settings["mappings compared"] = fitted.metric is not fitted.data and len(fitted.positions) <= MOST_KERNEL_ROWS
    if isinstance(recipe.supervision, str):
        settings["supervision taken"] = fitted.supervision
    if arrangement_of(recipe.method) == "auto":
        settings["arrangement taken"] = fitted.story.get("arrangement")
    return settings


def notes_of(fitted: FittedMap) -> tuple[str, ...]:
    """What a reader should know about how the map was made."""
    n_given, n_fit, data = len(fitted.given), len(fitted.given.fitted), fitted.data
    notes = [note for note in fitted.notes if note not in fitted.given.dependence.notes]  # statements of the report
    if n_fit < n_given:
        notes.append(f"{n_fit} of {n_given} rows were embedded; the others were placed on the map.")
    if isinstance(data, SimilarityMetric) and data.repaired_.negative_mass > 1e-9:
        mass = 100 * data.repaired_.negative_mass
        notes.append(f"{mass:.1f} % of the similarity's mass was negative; repair: {data.repair}.")
    if fitted.is_large:
        placed = f"{len(fitted.anchors)} landmarks" if fitted.cells is None else "their nearest fitted rows"
        notes.append(
            f"Large map: neighbours by {fitted.story.get('neighbors')}; new rows are placed by {placed}; structure is "
            f"judged on a sample of rows. Maps that are refitted for judging, with a target or none, take {MOST_KEPT} "
            "rows. Among more there are nearer ones to tell by: the map itself is likely to err less than they do."
        )
    if isinstance(fitted.metric, FisherMetric) and not fitted.metric.cross_fit:
        notes.append("cross_fit=False: rows were judged with their own labels in the density, as published.")
    return (*notes, *arrangement_notes(fitted), *published_notes(fitted))


def arrangement_notes(fitted: FittedMap) -> tuple[str, ...]:
    """What groups were held at: an earlier map, or a layout."""
    if isinstance(fitted.story.get("like"), str):
        movement = () if fitted.story["like"] in fitted.notes else (fitted.story["like"],)
        return *movement, "Maps that are refitted for judging are not held to the earlier map."
    strength = fitted.story.get("arrangement")
    if not isinstance(strength, float) or not strength:
        return ()
    taken = arrangement_of(fitted.recipe.method) == "auto"
    why = ", which costs less than one standard error of ten neighbours" if taken else ""
    return (
        f"arrangement={strength:g}{why}: groups of rows were pulled to a coarse layout of the metric of the map while "
        "it was made.",
    )


def published_notes(fitted: FittedMap) -> tuple[str, ...]:
    """Whether the published metric, without a share of the data's own, predicts the target worse than the latter."""
    metric = fitted.metric
    published = isinstance(metric, FisherMetric) and metric.supervision == 1 and not fitted.is_large
    if not published or not metric.cross_fit:
        return ()
    own, pure = (one["score"] for one in compared_with_own(metric, fitted.data, fitted.target, fitted.seed))
    if fitted.target.codes is not None:
        worse = pure < own
        figures = f"tell {100 * own:.0f} % of the rows right in the data and {100 * pure:.0f} % under it"
    else:
        worse, figures = pure > own, f"have an nRMSE of {own:.2f} in the data and of {pure:.2f} under it"
    if not worse:
        return ()
    return (
        f"supervision=1 is the published metric, and here it is worse than none: ten neighbours {figures}, out of "
        "fold. supervision='max' is the sharpest map that keeps a share of the data's own distances.",
    )


# --- trust in the rows ------------------------------------------------------------------------------------------------


def trust_in_given(fitted: FittedMap, judgement: Judgement) -> Trust:
    """The trust in all samples that were given: those on the map, and those that were placed on it."""
    given, made, comparison = fitted.given, MadeMap(fitted), judgement.comparison
    rule, n_rows = judgement.report.trust, len(given)
    assert rule is not None
    plain = comparison.plain_run if comparison is not None and fitted.target.exists else None
    own = trust_in_own_rows(made, rule, fitted.target, plain, () if comparison is None else comparison.runs)
    value = spread_out(own.value, given.fitted, n_rows)
    parts = {name: spread_out(part, given.fitted, n_rows) for name, part in own.parts.items()}
    others = given.others
    if len(others):
        Y, far = fitted.placed[0][others], fitted.placed[1][others]
        rows = fitted.entries(given.rows[others], given.target.levels[others])
        units = None if given.target.independent else given.target.units[others]
        evidence = evidence_for(made, rule, fitted.target, Y, rows, units)
        value[others] = np.where(far, np.nan, rule.chances(*evidence))
        for name, part in zip(rule.evidence, evidence, strict=True):
            parts[name][others] = part
    return Trust(value, parts, rule)


def trust_at(
    fitted: FittedMap, rule: TrustRule, rows: Any, Y: Numbers, far: NDArray[np.bool_], of_given: Callable[[], Trust]
) -> Numbers:
    """The trust in new rows at positions Y; NaN for those that are far, about which nothing is known.

    of_given : gives the trust in all given samples, and is called only if one of the fitted ones comes again.
    """
    evidence = evidence_for(MadeMap(fitted), rule, fitted.target, Y, rows)
    value = np.where(far, np.nan, rule.chances(*evidence))
    known, own = fitted.known.find(rows)
    if len(own):  # a row does not vote for itself, though it comes again
        value[known] = of_given().value[fitted.given.fitted[own]]
    return value


def spread_out(part: Numbers, fitted: Rows, n_rows: int) -> Numbers:
    """A part of the fitted rows as one of all rows."""
    whole = np.full(n_rows, np.nan)
    whole[fitted] = part
    return whole
