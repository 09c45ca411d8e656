"""How far a picture of a model can be trusted, by rows that trained neither of its two maps (thesis 3.4.3)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from prismap.exceptions import PrismapWarning
from prismap.inspection.responses import Answer
from prismap.inspection.surface import inverse_of, positions_of
from prismap.metrics.posteriors.models import takes_entries
from prismap.quality.fidelity import Fidelity, HeldOutFidelity, Region, fidelity

#: A regressor's row is shown wrongly when the picture misses the model's output by more than this share of its spread.
WRONG_SHARE = 0.5


def cross_validate(
    recipe: Any,
    responder: Any,
    X: Any,
    rows: np.ndarray,
    target: Any,
    said: Answer,
    *,
    n_folds: int,
    seed: int = 0,
    inverse: Any = "auto",
) -> tuple[Answer, np.ndarray, list[np.ndarray]]:
    """What the pictures of maps of other rows show at each row's place: (answer, row behind the place, folds)."""
    by_class = responder.kind == "class" and np.bincount(said.value).max() >= n_folds
    cut = (StratifiedKFold if by_class else KFold)(n_folds, shuffle=True, random_state=seed)
    behind = np.empty_like(rows)
    folds = []
    # A map of a matrix is made of the entries between its rows; the model is asked with those against all rows.
    between = take_entries if takes_entries(recipe) else take
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)  # said of the map of all rows already
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        for train, test in cut.split(rows, said.value if by_class else None):
            fitted = clone(recipe).fit(between(X, train, train), None if target is None else target[train])
            back = inverse_of(fitted, positions_of(fitted, between(X, train, train)), rows[train], inverse)
            behind[test] = back(positions_of(fitted, between(X, test, train)))
            folds.append(test)
    return responder(behind), behind, folds


def judge_view(view: Any, shown: Answer, *, off: float, folds: Any) -> HeldOutFidelity:
    """The figures of `cross_validate`'s result, over all rows and by fold and region."""
    said = Answer(view.said, view.said_certainty)
    overall = compare(said, shown, view.kind, len(view.classes))
    figures = ("agreement", "certainty", "output", "signed_certainty")
    names = [name for name in figures if getattr(overall, name) is not None]
    by_fold = [compare(part(said, fold), part(shown, fold), view.kind, len(view.classes)) for fold in folds]
    spread = {name: float(np.std([getattr(one, name) for one in by_fold])) for name in names}
    chance = float(np.bincount(view.said).max() / len(view.said)) if view.kind == "class" else None
    wrong = shown_wrongly(view.said, shown.value, view.kind)
    return HeldOutFidelity(
        len(view.said), overall.agreement, overall.certainty, overall.output, overall.signed_certainty,
        n_folds=len(folds), spread=spread, chance=chance, off_surface=off,
        regions=tuple(region_table(view, shown.value, wrong)), wrong=wrong,
    )  # fmt: skip


def off_surface(rows: np.ndarray, behind: np.ndarray) -> float:
    """Root mean squared distance of rows to those behind their places, relative to their spread about their mean."""
    size = np.square(rows - rows.mean(axis=0)).sum()
    return float(np.sqrt(np.square(rows - behind).sum() / size)) if size > 0 else 0.0


def compare(said: Answer, shown: Answer, kind: str, n_classes: int = 0) -> Fidelity:
    """`fidelity` of two answers, which give classes by their codes."""
    sure = {} if said.certainty is None else {"certainty": said.certainty, "certainty_back": shown.certainty}
    return fidelity(said.value, shown.value, target=kind, classes=range(n_classes), **sure)


def shown_wrongly(said: np.ndarray, shown: np.ndarray, kind: str) -> np.ndarray:
    """Which rows a picture shows otherwise than the model says: another class, or an output that is well off."""
    if kind == "class":
        return said != shown
    return np.abs(said - shown) > WRONG_SHARE * np.std(said)


def region_table(view: Any, shown: np.ndarray, wrong: np.ndarray) -> list[Region]:
    """Share of rows shown wrongly and the commonest mistake, for each region of the picture."""
    regions = view.regions
    table = []
    for number in [*range(regions.max(initial=-1) + 1), -1]:
        inside = regions == number
        if inside.any():
            name = region_name(view, number) if number >= 0 else "elsewhere"
            x, y = view.positions[inside].mean(axis=0)
            mistake = commonest_mistake(view, shown, inside & wrong)
            table.append(Region(name, int(inside.sum()), float(wrong[inside].mean()), mistake, (float(x), float(y))))
    return table


def region_name(view: Any, number: int) -> str:
    """The class or the output of a region, numbered where a class has several."""
    values = region_values(view)
    value = values[number]
    if view.kind == "real":
        return f"output near {value:.3g}"
    same = [other for other in range(len(values)) if values[other] == value]
    label = str(view.classes[int(value)])
    return label if len(same) == 1 else f"{label} ({1 + same.index(number)} of {len(same)})"


def region_values(view: Any) -> list[float]:
    """What the picture shows in each region: the class that most of its rows' cells have, or the median output."""
    at_rows = view.grid.value[view.grid.cells(view.positions)]
    parts = [at_rows[view.regions == number] for number in range(view.regions.max(initial=-1) + 1)]
    return [float(np.bincount(one).argmax() if view.kind == "class" else np.median(one)) for one in parts]


def commonest_mistake(view: Any, shown: np.ndarray, rows: np.ndarray) -> str | None:
    """ "3 shown as 5", or "too high"; None without mistakes."""
    if not rows.any():
        return None
    if view.kind == "real":
        return "too high" if np.mean(shown[rows] > view.said[rows]) > 0.5 else "too low"
    pairs, counts = np.unique(np.column_stack([view.said[rows], shown[rows]]), axis=0, return_counts=True)
    a, b = pairs[counts.argmax()]
    return f"{view.classes[a]} shown as {view.classes[b]}"


def part(answer: Answer, rows: np.ndarray) -> Answer:
    """The answer on some rows."""
    return Answer(answer.value[rows], None if answer.certainty is None else answer.certainty[rows])


def take(X: Any, rows: np.ndarray, columns: Any = None) -> Any:
    """Some rows of an array or of a data frame, with all columns."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def take_entries(X: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The entries of some rows of a matrix against others."""
    return np.asarray(X)[np.ix_(rows, columns)]
