"""Clusters of a map: are they there in every run, do they split, and are the gaps between them more than chance makes?

`prismap.quality._clusters` finds them. A method may tear a map more than chance does, so their gaps are held against
the widest one of its own maps of one Gaussian, with the mean and the covariance of the data. These are few, and vary: a
gap counts if it is above the 95 % prediction limit of the next one (`null_limit`). In another run a cluster is there if
a group of that run, of whatever density, has the same rows: by the Jaccard index, as in Hennig (2007), who calls 0.75
stable. A row has moved if most of its ten nearest rows are of another cluster in that run, and were not before.

A supervised map parts the classes, whether the data have a gap between them or not: classes that are halves of one
Gaussian become clusters with gaps of ten spacings and more. So a cluster of a supervised map is one of the data only if
the same group has a wide gap around it on the map without the target, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from prismap.quality._clusters import CLUSTERS, Joined, grouped, join, meetings, some_rows, widest_gap
from prismap.quality._votes import VOTERS, vote_on

#: In so many of all maps of one Gaussian no gap is taken for one.
LEVEL = 0.95
#: The standard deviation of the logarithm of the widest gap, where a single map of one Gaussian cannot tell. (Measured:
#: 0.02 to 0.18, for principal components, t-SNE, and rows pulled towards random classes.)
SPREAD = 0.15
#: Jaccard index from which on a cluster counts as there in a run.
THERE = 0.75
#: A cluster splits in a run where two of its parts hold this share of it each.
PART = 0.2
COUNTS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}
#: Clusters that are named.
MOST_NAMED = 3


@dataclass(frozen=True)
class Cluster:
    """One cluster. Figures over runs are NaN where there is no other run.

    Attributes
    ----------
    share : of all rows
    centre : median position of its rows
    gap : to the cluster it meets first, in units of the spacing of its rows
    mostly, purity : the commonest class of its rows, and the share of them that have it; None and NaN without classes
    jaccard : of the group of another run that is most like it, the mean over runs
    there : share of the runs in which that index is at least 0.75
    splits : share of the runs in which it falls into several clusters
    moved : share of its rows that lie among rows of other clusters in another run
    gap_unsupervised : of a supervised map, the gap around the same rows on the map without the target; 0 where they are
        no group there, NaN where there is no such map
    """

    share: float
    centre: tuple[float, ...]
    gap: float
    mostly: str | None = None
    purity: float = float("nan")
    jaccard: float = float("nan")
    there: float = float("nan")
    splits: float = float("nan")
    moved: float = float("nan")
    gap_unsupervised: float = float("nan")


@dataclass(frozen=True)
class MapClusters:
    """The clusters of a map, the largest first; none if there is no gap in it.

    Attributes
    ----------
    clusters : the clusters
    n_runs : other runs that they were looked for in
    null_gaps : the widest gap in each map of one Gaussian, made in the same way; none where there is no such map
    moved : share of all rows that lie among rows of other clusters in another run; NaN without other runs
    supervised : whether the target took part in making the map
    """

    clusters: tuple[Cluster, ...]
    n_runs: int = 0
    null_gaps: tuple[float, ...] = ()
    moved: float = float("nan")
    supervised: bool = False

    @property
    def wide_from(self) -> float:
        """Gaps above this are wider than chance makes them, in 19 of 20 maps."""
        return max(CLUSTERS.least_gap, null_limit(self.null_gaps))

    @property
    def unfounded(self) -> tuple[int, ...]:
        """The clusters whose gap is no wider than those of a map of one Gaussian."""
        return tuple(j for j, one in enumerate(self.clusters) if one.gap <= self.wide_from)

    @property
    def unsteady(self) -> tuple[int, ...]:
        """The clusters that are not there in every run."""
        return tuple(j for j, one in enumerate(self.clusters) if one.there < 1)

    @property
    def by_target(self) -> tuple[int, ...]:
        """The clusters of a supervised map without such a gap where the target is left out, as far as is known."""
        if not self.supervised:
            return ()
        return tuple(j for j, one in enumerate(self.clusters) if not one.gap_unsupervised > self.wide_from)

    @property
    def readable(self) -> tuple[int, ...]:
        """The clusters with a gap that neither chance nor the target makes, which are there in every run."""
        doubtful = {*self.unfounded, *self.unsteady, *self.by_target}
        return tuple(j for j in range(len(self.clusters)) if j not in doubtful)

    @property
    def words(self) -> list[str]:
        """What there is to say of them, in sentences."""
        many, readable = len(self.clusters), len(self.readable)
        if not many:
            return ["The map has no clusters: none of its gaps is wider than those of one Gaussian."]
        if readable == many:
            return [f"The map has {many} clusters, with {self._gap_words}.", *self._steady_words, *self._moved_words]
        some = f"{readable} can be read as {'a cluster' if readable == 1 else 'clusters'}"
        first = (
            f"Of the {many} groups with gaps between them, {some}."
            if readable
            else f"None of the {many} groups with gaps between them can be read as a cluster."
        )
        return [first, *self._doubts, *self._moved_words]

    @property
    def _gap_words(self) -> str:
        if not self.null_gaps:
            return "gaps between them that one Gaussian in the plane does not have"
        return "wider gaps between them than maps of one Gaussian have"

    @property
    def _steady_words(self) -> list[str]:
        if not self.n_runs:
            return []
        runs = "another run" if self.n_runs == 1 else f"each of {self.n_runs} other runs"
        return [f"All of them are there in {runs}."]

    @property
    def _doubts(self) -> list[str]:
        """Why groups cannot be read as clusters."""
        sentences, many = [], len(self.clusters)
        if self.unfounded:
            which = "them" if len(self.unfounded) == many else f"{len(self.unfounded)} of them"
            sentences.append(f"The gaps around {which} are no wider than those in maps of one Gaussian.")
        if self.by_target:
            known = any(one.gap_unsupervised == one.gap_unsupervised for one in self.clusters)
            which = "them" if len(self.by_target) == many else f"{len(self.by_target)} of them"
            sentences.append(
                f"The gaps around {which} are not there without the target, which may have made them."
                if known
                else "Whether the target made these gaps cannot be told: there is no map without it."
            )
        if lost := [self.clusters[j] for j in self.unsteady]:
            runs = "another run" if self.n_runs == 1 else f"some of {self.n_runs} other runs"
            named = ", ".join(_name(one) for one in lost[:MOST_NAMED]) + (" ..." if lost[MOST_NAMED:] else "")
            sentences.append(f"{len(lost)} of them {'is' if len(lost) == 1 else 'are'} not there in {runs}: {named}.")
        return sentences

    @property
    def _moved_words(self) -> list[str]:
        if not self.moved >= 0.01:
            return []
        where = _mostly_in([one.moved * one.share for one in self.clusters])
        return [f"{100 * self.moved:.0f} % of the rows{where} would lie elsewhere in another run."]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; NaN is None."""
        clusters = [{**_plain(asdict(one)), "centre": list(one.centre)} for one in self.clusters]
        whole = _plain({"n_runs": self.n_runs, "moved": self.moved, "supervised": self.supervised})
        return {**whole, "null_gaps": list(self.null_gaps), "found": clusters}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> MapClusters:
        """The inverse of `to_dict`."""
        kept = {"mostly": str, "centre": lambda values: tuple(float(v) for v in values)}
        clusters = (Cluster(**{k: _back(v, kept.get(k, float)) for k, v in one.items()}) for one in stored["found"])
        gaps = tuple(float(gap) for gap in stored["null_gaps"])
        supervised = bool(stored.get("supervised", False))
        return cls(tuple(clusters), int(stored["n_runs"]), gaps, _back(stored["moved"], float), supervised)


def one_gaussian(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn from one Gaussian with the mean and the covariance of X: as many, and no clusters.

    Parameters
    ----------
    X : (n, d) rows
    rng : numpy.random.Generator

    Returns
    -------
    array (n, d)

    Examples
    --------
    >>> one_gaussian(np.zeros((5, 2)), np.random.default_rng(0)).shape
    (5, 2)
    """
    centre = X.mean(axis=0)
    R = np.linalg.qr(X - centre, mode="r")  # R^T R is n times the covariance
    return np.asarray(centre + rng.normal(size=(len(X), len(R))) @ R / np.sqrt(len(X)))


def null_limit(gaps: Sequence[float], level: float = LEVEL) -> float:
    """The prediction limit of the widest gap in one more map of one Gaussian, from those of k such maps; 0 without any.

    Logarithms of these gaps are near normal: ``exp(m + t_{k-1, level} s sqrt(1 + 1 / k))``, m and s being their mean
    and standard deviation (Hahn & Meeker 1991, sec. 4.8).

    Parameters
    ----------
    gaps : the widest gap of each map
    level : float, default=0.95

    Returns
    -------
    float

    Examples
    --------
    >>> round(null_limit([1.2, 1.3, 1.4]), 2)
    1.68
    """
    if not len(gaps):
        return 0.0
    logs = np.log(np.maximum(gaps, 1.0))  # 1 is no gap at all
    k = len(logs)
    width = student.ppf(level, k - 1) * logs.std(ddof=1) if k > 1 else norm.ppf(level) * SPREAD
    return float(np.exp(logs.mean() + width * np.sqrt(1 + 1 / k)))


def judge_clusters(
    Y: Any, runs: Iterable[tuple[np.ndarray, np.ndarray]] = (), *, nulls: Iterable[Any] = (), names: Any = None,
    supervised: bool = False, unsupervised: Any = None, random_state: Any = 0,
) -> MapClusters:  # fmt: skip
    """The clusters of a map, whether they are there in other runs, and how wide the gaps of one Gaussian are.

    Parameters
    ----------
    Y : (n, n_components) positions
    runs : other maps of the same rows, or of some of them: (which rows, their positions) each
    nulls : positions of maps of one Gaussian each (`one_gaussian`), made in the same way
    names : the class of each row in words, None for rows without; None without classes
    supervised : bool, default=False
        Whether the target took part in making the map.
    unsupervised : of a supervised map, the map without the target, as one of `runs`; None if there is none
    random_state : for the sample of many rows

    Returns
    -------
    MapClusters

    Examples
    --------
    >>> Y = np.random.default_rng(0).normal(size=(60, 2)) + 20 * (np.arange(60) < 20)[:, None]
    >>> len(judge_clusters(Y).clusters)
    2
    """
    Y = np.asarray(Y, dtype=np.float64)
    runs = list(runs)
    rows = rows_in_runs(len(Y), [*runs, *([] if unsupervised is None else [unsupervised])], random_state)
    labels, gaps = grouped(join(Y[rows]))
    null_gaps = tuple(widest_gap(null, random_state) for null in nulls)
    if len(gaps) < 2:
        return MapClusters((), null_gaps=null_gaps, supervised=supervised)
    in_runs = [_in_run(Y[rows], labels, *_common(rows, *run), len(gaps)) for run in runs]
    nothing = np.full(len(gaps), np.nan)
    over_runs = [_mean_known([one[part] for one in in_runs]) if in_runs else nothing for part in range(4)]
    compared = supervised and unsupervised is not None
    alone = nothing
    if compared:
        here, places = _common(rows, *unsupervised)
        alone = gaps_around(join(places), labels[here], len(gaps))
    sizes = np.bincount(labels[labels >= 0])
    clusters = []
    for j, gap in enumerate(gaps):
        own = rows[labels == j]
        names_here = None if names is None else [names[row] for row in own]
        centre = tuple(np.median(Y[own], axis=0).tolist())
        figures = (float(part[j]) for part in (*over_runs, alone))
        clusters.append(Cluster(float(sizes[j] / len(rows)), centre, gap, *_commonest(names_here), *figures))
    return MapClusters(tuple(clusters), len(in_runs), null_gaps, float(over_runs[3] @ sizes / len(rows)), supervised)


# --- the same clusters in another run ---------------------------------------------------------------------------------


def best_jaccard(joined: Joined, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """For each cluster the Jaccard index of the group of this run that is most like it; NaN without rows here."""
    J = jaccard_of_groups(joined, labels, n_clusters)
    return np.where(np.bincount(labels[labels >= 0], minlength=n_clusters) > 0, J.max(axis=0), np.nan)


def jaccard_of_groups(joined: Joined, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """The Jaccard index of each group that was joined on a map and each cluster, (nodes, clusters)."""
    p = len(joined.core)
    counts = np.zeros((len(joined.weight), n_clusters))
    known = labels >= 0
    np.add.at(counts, (joined.which[known], labels[known]), 1.0)
    sizes = counts.sum(axis=0)
    for t, (left, right) in enumerate(joined.children):
        counts[p + t] = counts[left] + counts[right]
    return np.asarray(counts / np.maximum(joined.weight[:, None] + sizes - counts, 1))


def gaps_around(joined: Joined, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """The widest gap around the same rows as each cluster on another map; 0 where no group with a gap has them."""
    J, gaps = jaccard_of_groups(joined, labels, n_clusters), np.zeros(n_clusters)
    for t, gap in meetings(joined):
        there = (J[joined.children[t]] >= THERE).any(axis=0)
        gaps[there] = np.maximum(gaps[there], gap)
    return gaps


def falls_apart(again: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Whether the rows of each cluster are in several clusters of this run, at least a fifth of them in each of two."""
    apart = np.zeros(n_clusters)
    for j in range(n_clusters):
        parts = np.bincount(again[(labels == j) & (again >= 0)])
        apart[j] = (parts >= PART * max((labels == j).sum(), 1)).sum() > 1
    return apart


def have_moved(Y: np.ndarray, Y_again: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """The share of each cluster's rows whose ten nearest rows are mostly of another cluster, in this run alone."""
    known = np.flatnonzero(labels >= 0)
    labels, places = labels[known], np.arange(len(known))
    before, again = (
        vote_on(P[known], P[known], labels, n_clusters, n_neighbors=VOTERS, own=places) for P in (Y, Y_again)
    )
    moved = again.beaten(labels) & ~before.beaten(labels)
    sizes = np.bincount(labels, minlength=n_clusters)
    return np.where(sizes > 0, np.bincount(labels[moved], minlength=n_clusters) / np.maximum(sizes, 1), np.nan)


def _in_run(
    Y: np.ndarray, labels: np.ndarray, here: np.ndarray, Y_again: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, ...]:
    """Jaccard index, presence, splits and moved rows of each cluster in one run, of the rows `here`."""
    joined, labels = join(Y_again), labels[here]
    jaccard = best_jaccard(joined, labels, n_clusters)
    there = np.where(np.isnan(jaccard), np.nan, jaccard >= THERE)
    splits = falls_apart(grouped(joined)[0], labels, n_clusters)
    return jaccard, there, splits, have_moved(Y[here], Y_again, labels, n_clusters)


def rows_in_runs(n_rows: int, runs: Sequence[tuple[np.ndarray, Any]], random_state: Any) -> np.ndarray:
    """The rows that clusters are looked for among; where a run has few of many rows, those that all runs have.

    Of a draw from a million rows a run of 5,000 would have next to none.
    """
    rows = some_rows(n_rows, random_state)
    if all(2 * len(index) >= n_rows for index, _ in runs):
        return rows
    common = reduce(np.intersect1d, [index for index, _ in runs])
    return rows if len(common) < len(rows) // 2 else common[some_rows(len(common), random_state)]


def _common(rows: np.ndarray, index: np.ndarray, positions: Any) -> tuple[np.ndarray, np.ndarray]:
    """Which of `rows` a run has, and where."""
    _, here, there = np.intersect1d(rows, index, assume_unique=True, return_indices=True)
    return here, np.asarray(positions, dtype=np.float64)[there]


def _name(cluster: Cluster) -> str:
    """What a cluster is called in words."""
    rows = f"{100 * cluster.share:.0f} % of the rows" + (f", mostly {cluster.mostly}" if cluster.purity > 0.5 else "")
    return f"one ({rows}; it splits)" if cluster.splits > 0 else f"one ({rows})"


def _mostly_in(amounts: Sequence[float]) -> str:
    """In how many clusters two thirds of an amount are, if these are at most half of them."""
    largest = np.cumsum(sorted(amounts, reverse=True)) / sum(amounts)
    many = int(np.searchsorted(largest, 2 / 3)) + 1
    if 2 * many > len(amounts):
        return ""
    return f", mostly in {COUNTS.get(many, many)} cluster{'s' if many > 1 else ''},"


def _commonest(names: Sequence[Any] | None) -> tuple[str | None, float]:
    """The commonest of some names, and its share of those that are known."""
    known = [] if names is None else [str(name) for name in names if name is not None]
    if not known:
        return None, float("nan")
    distinct, counts = np.unique(known, return_counts=True)
    return str(distinct[counts.argmax()]), float(counts.max() / len(known))


def _mean_known(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The mean over runs of what is known."""
    known = ~np.isnan(parts)
    return np.where(known.any(axis=0), np.nansum(parts, axis=0) / np.maximum(known.sum(axis=0), 1), np.nan)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if value != value else value for name, value in values.items()}


def _back(value: Any, kind: Any) -> Any:
    if value is None:
        return None if kind is str else float("nan")
    return kind(value)
