"""How far each row of any map can be trusted: `prismap.quality.trust` with what a map of another method can tell.

There is no posterior. What a row's features say is what its ten nearest rows in the data say: `told` is the share of
them that agree with its neighbours on the map. The rule is learnt from rows that the method projected onto maps
without them, or, of coordinates alone, from the rows of the map, of which none votes for itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from prismap.judging.refits import Refits
from prismap.map.trust import (
    MOST_ROWS,
    NEIGHBORS,
    TOLERANCE,
    Evidence,
    counts_of,
    n_kept,
    nearest_rows,
    places,
    scatter,
    stays,
)
from prismap.metrics.several import shown_column
from prismap.metrics.target import known_targets
from prismap.quality import Trust, local_quality
from prismap.quality.trust import LOW, TrustRule, learn_trust, null_trust

#: Fewer rows of known truth than this make no rule.
FEWEST_JUDGED = 30


def trust_of(
    rows: Any, Y: np.ndarray, kind: str, y: Any, made: Refits | None, metric: Any = "euclidean"
) -> Trust | None:
    """The trust in the rows of a map; None where nothing is known to learn it from."""
    if kind == "none":
        return by_neighborhoods(rows, Y, made, metric)
    y = shown_column(y, kind)
    known = known_targets(y)
    if min(known.sum() - 1, len(Y) - 2) < NEIGHBORS:
        return None
    half = TOLERANCE * y[known].std() if kind == "real" else 0.0
    own = evidence(rows, Y, kind, y, half, metric)
    if made is None:
        judged = [(own.vote[known], own.told[known], are_right(own.said, y, half)[known])]
    else:
        judged = [of_case(rows, case, kind, y, half, metric) for case in made.cases[0]]
    vote, told, right = (np.concatenate(column) for column in zip(*judged, strict=True))
    if len(right) < FEWEST_JUDGED:
        return None
    rule = learn_trust(kind, vote, told, right)
    parts = {"vote": own.vote, "told": own.told, **parts_of(rows, Y, made, metric)}
    return with_low(rule.chances(own.vote, own.told), parts, rule)


def by_neighborhoods(rows: Any, Y: np.ndarray, made: Refits | None, metric: Any) -> Trust | None:
    """Without a target: how much of a row's neighbourhood is kept, against a map of one Gaussian by the same method."""
    parts = parts_of(rows, Y, made, metric)
    if made is None or not made.nulls or "kept" not in parts:
        return None
    k = n_kept(Y)
    kept = [local_quality(drawn, null.positions, n_neighbors=k, metric=metric) for drawn, null in made.nulls]
    rule = null_trust(np.concatenate(kept), k)
    return with_low(rule.chances(parts["kept"]), parts, rule)


def with_low(value: np.ndarray, parts: dict[str, np.ndarray], rule: TrustRule) -> Trust:
    """The trust of rows, whose rule says how many are not trusted."""
    return Trust(value, parts, replace(rule, low=float((value < LOW[rule.kind]).mean())))


def evidence(rows: Any, Y: np.ndarray, kind: str, y: np.ndarray, half: float, metric: Any) -> Evidence:
    """What the neighbours of each row say on a map, none of which votes for itself, and those in the data."""
    known = np.flatnonzero(known_targets(y))
    own = places(known, len(Y))
    in_data = rows[:, known] if metric == "precomputed" else rows
    on_map = known[nearest_rows(Y, Y[known], own)]
    fitted = in_data[known]
    return said_by(y[on_map], y[known[nearest_rows(in_data, fitted, own, metric)]], kind, half)


def of_case(rows: Any, case: Any, kind: str, y: Any, half: float, metric: Any) -> tuple[Any, Any, Any]:
    """Vote, told and truth of the rows of a case (`Judged`), which a map without them was given afterwards."""
    kept, fitted, out = case.kept, case.fitted_positions, case.out
    voters = known_targets(y[kept])
    on_map = y[kept][voters][nearest_rows(case.positions, fitted[voters])]
    in_data = y[kept][voters][nearest_rows(rows[out], rows[kept][voters], metric=metric)]
    found = said_by(on_map, in_data, kind, half)
    return found.vote, found.told, are_right(found.said, y[out], half)


def said_by(on_map: np.ndarray, in_data: np.ndarray, kind: str, half: float) -> Evidence:
    """What neighbours with these targets say, the share that agrees, and the share of those in the data that do."""
    if kind == "class":
        votes = counts_of(on_map, int(max(on_map.max(), in_data.max())) + 1)
        said = votes.argmax(axis=1)
        return Evidence(said, votes.max(axis=1) / on_map.shape[1], (in_data == said[:, None]).mean(axis=1))
    said = on_map.mean(axis=1)
    vote, told = ((np.abs(near - said[:, None]) <= half).mean(axis=1) for near in (on_map, in_data))
    return Evidence(said, vote, told)


def are_right(said: np.ndarray, y: np.ndarray, half: float) -> np.ndarray:
    """1.0 where what neighbours say is true, within `half`."""
    return (np.abs(said - y) <= half).astype(np.float64)


def parts_of(rows: Any, Y: np.ndarray, made: Refits | None, metric: Any) -> dict[str, np.ndarray]:
    """Shares of each row's ten neighbours that the map keeps, that stay in other runs, and that are there without y."""
    k = n_kept(Y)
    if k < 1 or len(Y) > MOST_ROWS:
        return {}
    found = {"kept": local_quality(rows, Y, n_neighbors=k, metric=metric)}
    if made is not None and made.plain is not None:
        found["plain"] = local_quality(Y, made.plain.positions, n_neighbors=k)
    if made is not None and made.runs:
        found |= {"stays": stays(Y, made.runs), "scatter": scatter(Y, made.runs)}
    return found
