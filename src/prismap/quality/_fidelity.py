"""Does a picture of a model show what the model does? (Schulz 2017, sec. 3.4.3)

A model f is drawn through the inverse map; for rows that this map was not fitted to, compare what the model says
of the row, f(x), with what it says of the row's place in the picture, f(back(map(x))). It does not matter whether the
row itself is restored: errors along directions that the model ignores do not count.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from prismap.exceptions import InputError


@dataclass(frozen=True)
class Fidelity:
    """How far a picture agrees with a model; None where a figure does not apply.

    Parameters
    ----------
    n_rows : rows that were compared.
    agreement : share of rows with the same class.
    certainty : correlation of the certainty, 0 at a boundary whichever the class.
    output : correlation of real output.
    signed_certainty : correlation of the certainty of two classes with a sign, negative on the side of the first, as
        the decision value of a machine has it (Schulz 2017, sec. 3.5).
    """

    n_rows: int
    agreement: float | None = None
    certainty: float | None = None
    output: float | None = None
    signed_certainty: float | None = None

    def __str__(self) -> str:
        words = {
            "agreement": "labels agree on {:.1%}",
            "certainty": "certainty r = {:.2f}",
            "signed_certainty": "with its sign {:.2f}",
            "output": "output r = {:.2f}",
        }
        figures = [text.format(getattr(self, name)) for name, text in words.items() if getattr(self, name) is not None]
        return f"{', '.join(figures)} ({self.n_rows} rows)"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON (None where there is no number)."""
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("wrong", "regions")}
        return {name: None if value is None or value != value else value for name, value in plain.items()}


@dataclass(frozen=True)
class Region:
    """A region of a picture: its rows, the share of them shown wrongly, the commonest mistake, and where it lies."""

    name: str
    n_rows: int
    wrong: float
    mistake: str | None
    center: tuple[float, float]


@dataclass(frozen=True)
class HeldOutFidelity(Fidelity):
    """`Fidelity` of a way to picture a model, each row judged by maps that it did not train.

    Parameters
    ----------
    n_folds : parts of the rows; each was placed by maps of the others.
    spread : standard deviation of each figure over the folds.
    chance : agreement of a picture in one colour.
    off_surface : root mean square of x - back(map(x)), relative to the spread of the rows. 0: every row lies on the
        surface that the picture shows; 1: the surface is as far from the rows as their mean is.
    regions : where the picture is wrong, largest region first.
    wrong : which rows were shown wrongly.
    """

    n_folds: int = 0
    spread: dict[str, float] = field(default_factory=dict)
    chance: float | None = None
    off_surface: float = float("nan")
    regions: tuple[Region, ...] = ()
    wrong: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=bool), repr=False)

    def __str__(self) -> str:
        return f"{super().__str__()[:-1]} in {self.n_folds} folds, none of which trained the maps that show it)"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON, the regions as a list."""
        plain = super().to_dict()
        plain["wrong"] = [int(row) for row in np.flatnonzero(self.wrong)]
        plain["regions"] = [asdict(region) for region in self.regions]
        return plain

    def table(self) -> str:
        """The regions as lines of text."""
        width = max([len(region.name) for region in self.regions], default=0)
        return "\n".join(
            f"{region.name:<{width}}  {region.n_rows:6d} rows  {region.wrong:6.1%} wrong"
            + (f"  ({region.mistake})" if region.mistake else "")
            for region in self.regions
        )


def fidelity(
    prediction: Any,
    prediction_back: Any,
    *,
    certainty: Any = None,
    certainty_back: Any = None,
    target: str = "class",
    classes: Any = None,
) -> Fidelity:
    """How far a model's picture agrees with the model, from its answers on rows and on their places in the picture.

    Parameters
    ----------
    prediction, prediction_back : f(x) and f(back(map(x))) for the same held-out rows
    certainty, certainty_back : the model's certainty r at the same places, for classifiers (optional)
    target : "class" (agreement, and correlation of certainty) or "real" (correlation of output)
    classes : the two classes of a two-class model, in its order: certainty is then compared with its sign, too

    Returns
    -------
    Fidelity

    Examples
    --------
    >>> fidelity(["a", "b", "b", "a"], ["a", "b", "a", "a"]).agreement
    0.75
    """
    f, f_back = _pair(prediction, prediction_back, "prediction")
    if target == "real":
        return Fidelity(len(f), output=correlation(f, f_back))
    if target != "class":
        raise InputError(f"target must be 'class' or 'real'; got {target!r}.")
    sure = signed = None
    if certainty is not None or certainty_back is not None:
        r, r_back = _pair(certainty, certainty_back, "certainty")
        if len(r) != len(f):
            raise InputError(f"certainty has {len(r)} rows and prediction has {len(f)}: they must be the same rows.")
        sure = correlation(r, r_back)
        if classes is not None and len(classes) == 2:
            signed = correlation(np.where(f == classes[1], r, -r), np.where(f_back == classes[1], r_back, -r_back))
    return Fidelity(len(f), agreement=label_agreement(f, f_back), certainty=sure, signed_certainty=signed)


class SegmentFidelity(NamedTuple):
    """How far a picture shows margins and curvature, over segments between neighbours of the picture.

    `margin` is the correlation of the shares of segments that lie on the first row's side of the model's border, in the
    data and in the picture, over the `n_borders` segments between rows of different classes. `curvature` is the
    correlation of second differences of the certainty, or of the output, over all `n_segments`.
    """

    n_segments: int
    n_borders: int
    margin: float | None
    curvature: float | None


def segment_fidelity(
    codes: np.ndarray | None, codes_back: np.ndarray | None, height: np.ndarray | None, height_back: np.ndarray | None
) -> SegmentFidelity:
    """Margins and curvature, which Schulz (2017, sec. 3.7 and chapter 6) leaves open, from answers along segments.

    Parameters
    ----------
    codes, codes_back : (n_segments, n_nodes), classes at equidistant nodes in the data and in the picture; None: none
    height, height_back : the same for certainty or output; None: a model that only labels. n_nodes is odd.
    """
    n_segments, n_borders, margin, curvature = 0, 0, None, None
    if codes is not None and codes_back is not None:
        n_segments, border = len(codes), codes[:, 0] != codes[:, -1]
        n_borders = int(border.sum())
        if n_borders > 1:
            margin = correlation(*(side_share(side[border]) for side in (codes, codes_back)))
    if height is not None and height_back is not None:
        n_segments = len(height)
        curvature = correlation(*(second_difference(side) for side in (height, height_back)))
    return SegmentFidelity(n_segments, n_borders, margin, curvature)


def side_share(codes: np.ndarray) -> np.ndarray:
    """The share of each segment's nodes before the class of the first one ends."""
    return np.asarray(np.logical_and.accumulate(codes == codes[:, :1], axis=1).mean(axis=1))


def second_difference(height: np.ndarray) -> np.ndarray:
    """What the middle of each segment is above the mean of its ends."""
    return np.asarray(height[:, height.shape[1] // 2] - (height[:, 0] + height[:, -1]) / 2)


def label_agreement(a: Any, b: Any) -> float:
    """The share of rows with the same label in both.

    Parameters
    ----------
    a, b : labels of the same rows

    Returns
    -------
    float

    Examples
    --------
    >>> label_agreement(["a", "b"], ["a", "a"])
    0.5
    """
    a, b = _pair(a, b, "labels")
    return float(np.mean(a == b))


def correlation(a: Any, b: Any) -> float:
    """Pearson correlation (Schulz 2017, eq. 3.4); NaN if one side does not vary.

    Parameters
    ----------
    a, b : numbers of the same rows

    Returns
    -------
    float

    Examples
    --------
    >>> round(correlation([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]), 6)
    1.0
    """
    a, b = (np.asarray(side, dtype=np.float64) for side in _pair(a, b, "values"))
    a, b = a - a.mean(), b - b.mean()
    size = np.linalg.norm(a) * np.linalg.norm(b)
    return float(np.clip(a @ b / size, -1.0, 1.0)) if size > 0 else float("nan")


def _pair(a: Any, b: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    if a is None or b is None:
        raise InputError(f"{name} is needed both for the rows and for their places in the picture ({name}_back).")
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim != 1 or a.shape != b.shape or not len(a):
        raise InputError(
            f"{name} must hold one value per row, for the same rows on both sides; got shapes {a.shape} and {b.shape}."
        )
    return a, b
