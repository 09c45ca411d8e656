"""What a map is held at while it is made: a coarse layout of its metric, or the places that its rows have on an
earlier map. Both pull as strongly as the neighbours can afford, by evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from prismap._util.arrays import Numbers, Rows
from prismap._util.random import as_generator
from prismap.embeddings import GTM, SOM, TSNE
from prismap.embeddings._places import (
    Places,
    largest_affordable,
    neighbors_lost,
    sampled_rows,
    similarity,
    spread_medoids,
)
from prismap.embeddings._tsne import arranged
from prismap.exceptions import InputError
from prismap.map._choose import class_sizes, nearest_losses, nearest_rows
from prismap.map._drift import Drift, drift_of
from prismap.map._fitted import FittedMap
from prismap.map._lazy import is_lazy
from prismap.map._methods import arrangement_of, with_arrangement
from prismap.map._recipe import Recipe
from prismap.quality import arrangement, find_clusters
from prismap.target import Target

# --- how strongly -----------------------------------------------------------------------------------------------------


def affordable(embedding: Any, metric: Any, target: Target, seed: int, places: Places | None = None) -> float:
    """The strength of the pull that ten neighbours can afford, on maps of at most 2,000 rows.

    It costs less than one standard error. With a target, ten neighbours on the map predict that of each row, as in
    `prismap.map._choose`: the metric is cross-fitted, rows of one unit have no vote on each other, and the standard
    error is that of units. Without one, or with fewer than 20 labels, it is the share of the ten neighbours under the
    metric that are lost on the map.

    The pull is to the `places`, and then the largest such strength is taken. Or it is to a coarse layout of the metric.
    Of four classes or more, the largest is then taken at which distances between them are as much like those under the
    metric as at any of them: the layout shows more groups than there are classes, and its strongest pull need not be
    best for these.
    """
    rng = as_generator(seed)
    by_target = target.exists and len(target.labelled_rows) >= 20
    rows = target.draw(2000, rng) if by_target else sampled_rows(len(target), rng)
    judged, some = target.take(rows), None if places is None else places.take(rows)
    D = np.asarray(metric.between(rows, rows), dtype=np.float64)
    maps: dict[float, Numbers] = {}

    def losses_at(strength: float) -> Numbers:
        pull = strength if some is None else replace(some, strength=strength)
        Y = maps[strength] = arranged(embedding, D, pull)
        return predicted(Y, judged, target) if by_target else neighbors_lost(D, Y)

    codes = judged.codes if some is None and by_target else None
    by_classes = codes is not None and len(np.unique(codes[codes >= 0])) >= 4
    return largest_affordable(
        losses_at, judged.units,
        worth_of=(lambda strength: kept_between(D, maps[strength], codes)) if by_classes else None,
    )[0]  # fmt: skip


def kept_between(D: Numbers, Y: Numbers, codes: Any) -> float:
    """Rank correlation of the distances between four classes or more on the map Y with those by distances D."""
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0.0)
    compared = arrangement(D, Y, codes, metric="precomputed")
    assert compared is not None
    return compared.correlation


def predicted(Y: Numbers, judged: Target, target: Target) -> Numbers:
    """The loss of each row by the ten nearest others on the map."""
    D2 = cdist(Y, Y, "sqeuclidean")
    return nearest_losses(D2.copy(), judged, nearest_rows(D2), class_sizes(target))


def held_embedding(embedding: Any, metric: Any, target: Target, earlier: Earlier | None, seed: int) -> Any:
    """The embedding with what it is held at: the places of an earlier map, or a layout of a strength to be chosen."""
    if earlier is not None and getattr(embedding, "n_components", 2) != earlier.positions.shape[1]:
        raise InputError(
            f"like is a map in {earlier.positions.shape[1]} dimensions, and the method makes one in "
            f"{embedding.n_components}: they cannot be laid on each other."
        )
    places = None if earlier is None or not isinstance(embedding, TSNE) else earlier.places(target, seed)
    if places is not None:
        strength = affordable(embedding, metric, target, seed, places)
        return with_arrangement(embedding, replace(places, strength=strength))
    if arrangement_of(embedding) == "auto":
        return with_arrangement(embedding, affordable(embedding, metric, target, seed))
    return embedding


# --- an earlier map ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Earlier:
    """Where samples lie on an earlier map.

    Attributes
    ----------
    fitted : the earlier map.
    positions : (n, 2) of the samples on it: their own if it was made of them, else projected.
    shared : (n,) whether it was made of them.
    far : (n,) whether they are far from all that it was made of; their positions mean nothing.
    label : what the earlier map is called, such as its month; "" where it has no name.
    drift : how the samples that it was not made of differ from its own; None without such samples.
    """

    fitted: FittedMap
    positions: Numbers
    shared: NDArray[np.bool_]
    far: NDArray[np.bool_]
    label: str = ""
    drift: Drift | None = None

    def take(self, rows: Rows) -> Earlier:
        """The same of some of the samples."""
        return replace(self, positions=self.positions[rows], shared=self.shared[rows], far=self.far[rows])

    @property
    def guides(self) -> NDArray[np.bool_]:
        """The samples by which the maps are laid on each other: shared ones, or all that are near if these are few."""
        return self.shared if self.shared.sum() >= 10 else ~self.far

    def unknown(self, target: Target) -> NDArray[np.bool_]:
        """Which samples have a class that the earlier map does not; none where one of the maps has no classes."""
        old, own = class_names(self.fitted.target), class_names(target)
        if old is None or own is None:
            return np.zeros(len(self.far), dtype=bool)
        known = {*old, ""}
        return np.array([name not in known for name in own], dtype=bool)

    def places(self, target: Target, seed: int) -> Places | None:
        """Each shared sample at its place, and others that are near in groups of those that lie together; else None.

        Samples of a class that the earlier map does not have are free: it puts them among others, and t-SNE would push
        single ones out of the map, since they cannot pass the groups between them and their neighbours.
        """
        groups = np.full(len(self.far), -1, dtype=np.intp)
        near = ~self.far & ~self.shared & ~self.unknown(target)
        n_shared = int(self.shared.sum())
        groups[self.shared] = np.arange(n_shared)
        positions = self.positions[self.shared]
        if near.any():
            rows = np.flatnonzero(near)
            sample = rows[sampled_rows(len(rows), as_generator(seed))]
            D2 = cdist(self.positions[sample], self.positions[sample], "sqeuclidean")
            medoids = spread_medoids(D2, int(np.clip(len(sample) // 10, 1, 100)), as_generator(seed))
            cells = cKDTree(self.positions[sample[medoids]]).query(self.positions[rows])[1]
            groups[rows] = n_shared + cells
            means = [self.positions[rows[cells == cell]].mean(axis=0) for cell in range(len(medoids))]
            positions = np.vstack([positions, means])
        return Places(groups, positions) if len(positions) >= 3 else None

    def laid_on(self, Y: Numbers, *, scale: bool) -> Numbers:
        """Positions of a new map after the turn, reflection, shift and (if so) scale that bring them nearest."""
        guides = self.guides
        if guides.sum() < 3:
            return Y
        move = similarity(Y[guides], self.positions[guides], scale=scale)
        return move(Y)


def earlier_of(like: Any, X: Any, given: Any, recipe: Recipe) -> Earlier | None:
    """Where samples X lie on the fitted `PrisMap` that a map of this recipe is to be like; None without one."""
    if like is None:
        return None
    own = isinstance(recipe.mapping, str) and recipe.mapping == "own"
    if is_lazy(X) or own or isinstance(recipe.method, (SOM, GTM)) or recipe.method in ("som", "gtm"):
        raise InputError(
            "like holds a map to the places of an earlier one, which is not possible for samples of Dask, for "
            "mapping='own' and for the lattices of method='som' and 'gtm'."
        )
    return like if isinstance(like, Earlier) else placed_on(like, X, given)


def placed_on(like: Any, X: Any, given: Any = None, label: str = "") -> Earlier:
    """Where samples, as the earlier map reads them, lie on it."""
    if not hasattr(like, "map_"):
        raise InputError(f"like must be a fitted PrisMap, to which the new map is held; got {like!r:.60}.")
    if like.map_.data.is_matrix:
        raise InputError("like needs rows that the earlier map can place: vectors or objects, not a matrix of pairs.")
    Y, far, distance = like.place(X, given=given, return_distance=True)
    new = distance > 0
    drift = drift_of(like.map_, [like._entries(X, given)[new]]) if new.any() else None
    return Earlier(like.map_, Y, ~new, far, label, drift)


@dataclass(frozen=True)
class Version:
    """The rows of a map on one before it.

    Attributes
    ----------
    label : what that map is called; "" where it has no name.
    positions : (n, 2) of the rows, NaN of those that it does not have.
    gone : (m, 2) of rows that only that map has, at most 2,000 of them.
    """

    label: str
    positions: Numbers
    gone: Numbers


def versions_of(earlier: Earlier, most: int = 11) -> tuple[Version, ...]:
    """The samples of `earlier` on the earlier map and on those that it was like itself, the oldest first.

    most : as many maps are kept at most: with the new one, a year of months.
    """
    old, guides = earlier.fitted, earlier.guides
    keys = [place.tobytes() for place in old.positions.astype(np.float32)]  # a shared row has its very position
    row_of, shared = dict(zip(keys, range(len(keys)), strict=True)), np.flatnonzero(earlier.shared)
    rows = np.array([row_of[place.tobytes()] for place in earlier.positions[shared].astype(np.float32)], dtype=np.intp)
    known = {keys[row] for row in rows}
    gone = np.array([key not in known for key in keys], dtype=bool)
    versions = []
    for version in old.versions[1 - most :]:
        positions, left = np.full(earlier.positions.shape, np.nan), version.positions[gone]
        positions[shared] = version.positions[rows]
        left = np.vstack([version.gone, left[np.isfinite(left).all(axis=1)]])
        versions.append(Version(version.label, positions, spaced(left)))
    positions = np.where(guides[:, None], earlier.positions, np.nan)
    return *versions, Version(earlier.label, positions, spaced(old.positions[gone]))


def spaced(positions: Numbers, most: int = 2000) -> Numbers:
    """All of few positions, or as many at equal steps."""
    return positions[:: max(1, -(-len(positions) // most))]


# --- what has changed -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moved:
    """A group that lies elsewhere.

    Attributes
    ----------
    name : of the class or cluster.
    path : how far its centre has moved, in units of the earlier map's radius.
    new_share : share of its rows that the earlier map was not made of.
    kept : share of their ten neighbours that its shared rows keep; NaN without such rows.
    """

    name: str
    path: float
    new_share: float
    kept: float

    def __str__(self) -> str:
        why = [f"{self.new_share:.0%} of its rows are new"] if self.new_share > 0 else []
        if self.kept == self.kept:
            why.append(f"the others keep {self.kept:.0%} of their neighbours" if why else
                       f"its rows keep {self.kept:.0%} of their neighbours")  # fmt: skip
        return f"{self.name} (by {self.path:.0%} of the radius; {', '.join(why)})"


@dataclass(frozen=True)
class Movement:
    """How a map differs from the earlier one that it was held to.

    Attributes
    ----------
    n_rows, n_shared, n_far : samples of the map, those that both were made of, and those far from the earlier one.
    strength : of the hold; 0 if it was laid on the earlier map only.
    kept : mean share of ten neighbours that shared samples keep among themselves; NaN below 20 of them.
    path : mean way of the shared samples, in units of the earlier map's radius (root mean square distance from its
        centre).
    moved : groups whose centre moved by a quarter of the radius.
    new, gone : names of groups that only the new map has, or only the earlier one.
    drift : how the samples that the earlier map was not made of differ from its own, as `PrisMap.drift` says it; None
        without such samples.
    """

    n_rows: int
    n_shared: int
    n_far: int
    strength: float
    kept: float
    path: float
    moved: tuple[Moved, ...] = ()
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    drift: Drift | None = None

    def __str__(self) -> str:
        held = f"held with strength {self.strength:g}" if self.strength else "turned and reflected only, not held"
        words = [f"Like the earlier map ({held}): {self.n_shared} of {self.n_rows} rows were on it"]
        if self.kept == self.kept:
            words[0] += (
                f", keep {self.kept:.0%} of their ten neighbours and moved by {self.path:.0%} of its radius on average"
            )
        words[0] += "."
        if self.drift is not None:
            words.append(drift_sentence(self.drift))
        return " ".join([*words, *self.changes])

    @property
    def changes(self) -> tuple[str, ...]:
        """Which groups have moved, are new or are gone, in a sentence each."""
        words = []
        for what, groups in (("Moved", self.moved), ("New", self.new), ("Gone", self.gone)):
            if groups:
                more = f" and {len(groups) - 5} more" if len(groups) > 5 else ""
                words.append(f"{what}: {', '.join(str(group) for group in groups[:5])}{more}.")
        return (*words, *(() if self.moved else ("No group has moved.",)))


def drift_sentence(drift: Drift) -> str:
    """How the new samples differ from those of the earlier map, without the advice to make the map that there is."""
    rows = "new row is" if drift.n_rows == 1 else "new rows are"
    words = f"{drift.far_share:.0%} of {drift.n_rows} {rows} far from all that it knows"
    words += f" ({drift.far_expected:.0%} expected)"
    if drift.shift is not None:
        words += (
            f", and what it expects of their target has moved by {drift.shift:.2f} ({drift.shift_noise:.2f} by chance)"
        )
    return f"{words}."


def movement_of(
    earlier: Earlier, positions: Numbers, target: Target, strength: float, seed: int, *, fewest: int = 5
) -> Movement:
    """What has changed on a map of the samples of `earlier`, which has been laid on the earlier one.

    fewest : rows from which on a group is looked at.
    """
    old, shared = earlier.fitted, np.flatnonzero(earlier.shared)
    radius = max(float(np.sqrt(old.positions.var(axis=0).sum())), np.finfo(float).tiny)
    paths = np.linalg.norm(positions - earlier.positions, axis=1) / radius
    kept = np.full(len(positions), np.nan)
    if len(shared) >= 20:
        some = shared[sampled_rows(len(shared), as_generator(seed))]
        kept[some] = 1 - neighbors_lost(cdist(earlier.positions[some], earlier.positions[some]), positions[some])
    before, now = groups_of(earlier, positions, target, seed)
    moved = []
    for name in dict.fromkeys(now):
        rows = np.flatnonzero(now == name)
        if name not in before or len(rows) < fewest:
            continue
        path = float(np.linalg.norm(positions[rows].mean(axis=0) - before[name].mean(axis=0))) / radius
        if path >= 0.25:
            mean = float(np.nanmean(kept[rows])) if not np.isnan(kept[rows]).all() else float("nan")
            moved.append(Moved(name, path, float(1 - earlier.shared[rows].mean()), mean))
    known = not np.isnan(kept).all()
    return Movement(
        len(positions), len(shared), int(earlier.far.sum()), strength,
        float(np.nanmean(kept)) if known else float("nan"), float(paths[shared].mean()) if known else float("nan"),
        tuple(sorted(moved, key=lambda one: -one.path)),
        tuple(sorted(name for name in set(now) - set(before) if name and (now == name).sum() >= fewest)),
        tuple(sorted(name for name in set(before) - set(now) if len(before[name]) >= fewest)), earlier.drift,
    )  # fmt: skip


def class_names(target: Target) -> NDArray[Any] | None:
    """The name of each row's class, "" for none; None without classes."""
    codes = target.codes
    return None if codes is None else np.array([*(str(name) for name in target.classes), ""], dtype=object)[codes]


def groups_of(
    earlier: Earlier, positions: Numbers, target: Target, seed: int
) -> tuple[dict[str, Numbers], NDArray[Any]]:
    """Earlier positions of each group by name, and the names of the groups of the new rows ("" for none).

    Groups are classes where both maps have them. Else they are the clusters of the earlier map, to which new rows
    belong by their places on it, and clusters of the new map whose rows are mostly far from the earlier one.
    """
    old = earlier.fitted
    names, own_names = class_names(old.target), class_names(target)
    if names is not None and own_names is not None:
        return {name: old.positions[names == name] for name in sorted(set(names) - {""})}, own_names
    clusters = find_clusters(old.positions, random_state=seed)
    before = {f"cluster {c + 1}": old.positions[clusters == c] for c in range(clusters.max() + 1)}
    numbers = clusters[cKDTree(old.positions).query(earlier.positions)[1]]
    now = np.array([f"cluster {c + 1}" if c >= 0 else "" for c in numbers], dtype=object)
    own = find_clusters(positions, random_state=seed)
    for c in range(own.max() + 1):
        far = (own == c) & earlier.far
        now[far] = f"new cluster {c + 1}" if far.sum() > (own == c).sum() / 2 else ""
    now[earlier.far & (own < 0)] = ""
    return before, now
