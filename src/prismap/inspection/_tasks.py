"""What a model answers, classes or numbers, and all that follows from it for the model's picture.

A model has a task, `Classification` or `Regression`. What is done otherwise with classes than with numbers is a method
of these two, so that nothing else asks which it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier, is_regressor

from prismap.exceptions import InputError
from prismap.inspection._certainty import certainty
from prismap.inspection._paint import paint_classes, paint_output
from prismap.metrics.posteriors._models import model_name
from prismap.quality._fidelity import Fidelity, fidelity
from prismap.target import decide_target, make_target
from prismap.target._labels import missing_mask

#: A regressor's row is shown wrongly when the picture misses the model's output by more than this share of its spread.
WRONG_SHARE = 0.5


@dataclass(frozen=True)
class Answer:
    """What a model says of some rows: `value` (codes of classes, or real output) and `certainty` (None: unknown)."""

    value: np.ndarray
    certainty: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> Answer:
        """The answer on some of the rows."""
        return Answer(self.value[rows], None if self.certainty is None else self.certainty[rows])


@dataclass(frozen=True, eq=False)
class Classification:
    """The task of a classifier; answers are codes of `classes`, which are the labels in their order."""

    classes: np.ndarray
    kind: ClassVar[str] = "class"
    has_classes: ClassVar[bool] = True
    #: What a picture of the model is called, and one answer.
    picture: ClassVar[str] = "Decisions"
    noun: ClassVar[str] = "class"

    def check(self, y: Any) -> Any:
        """The target of the rows as a map is fitted with it: labels as they are."""
        return y

    def encode(self, y: Any) -> np.ndarray:
        """Codes of labels among `classes`; -1 where there is none (None, NaN, or -1 that is no class)."""
        labels = np.asarray(y)
        codes = np.full(len(labels), -1, dtype=np.intp)
        known = ~missing_mask(labels)
        own = labels[known].astype(self.classes.dtype)
        place = np.minimum(np.searchsorted(self.classes, own), len(self.classes) - 1)
        codes[known] = np.where(self.classes[place] == own, place, -1)
        return codes

    def decode(self, values: np.ndarray) -> np.ndarray:
        """Labels of codes."""
        return np.asarray(self.classes[values])

    def as_target(self, predicted: np.ndarray) -> np.ndarray:
        """The answers as the target of a map: labels, at least two of them."""
        if len(np.unique(predicted)) < 2:
            raise InputError(
                f"supervision_from='model' needs a model that tells rows apart; this one says "
                f"{str(self.classes[predicted[0]])!r} of every row. Use supervision_from='labels'."
            )
        return np.asarray(self.classes[predicted])

    def answer(self, model: Any, rows: Any, values: np.ndarray) -> Answer:
        """What a model predicts as an `Answer`: codes, and the model's certainty."""
        return Answer(self.encode(values), certainty(model, rows, values))

    def groups(self, predicted: np.ndarray, n_folds: int) -> np.ndarray | None:
        """What folds of the rows get equal shares of: the classes, if one of them has a row for each fold."""
        return predicted if np.bincount(predicted).max() >= n_folds else None

    def chance(self, predicted: np.ndarray) -> float | None:
        """Agreement of a picture in one colour: the share of the commonest class."""
        return float(np.bincount(predicted).max() / len(predicted))

    def compare(self, predicted: Answer, shown: Answer) -> Fidelity:
        """`Fidelity` of a picture: agreement, and the correlation of certainty where the model has one."""
        both = {}
        if predicted.certainty is not None:
            both = {"certainty": predicted.certainty, "certainty_back": shown.certainty}
        return fidelity(predicted.value, shown.value, target="class", classes=range(len(self.classes)), **both)

    def differs(self, predicted: np.ndarray, shown: np.ndarray) -> np.ndarray:
        """Which rows a picture shows otherwise than the model says: as another class."""
        return np.asarray(predicted != shown)

    def mistake(self, predicted: np.ndarray, shown: np.ndarray) -> str:
        """The commonest mistake of rows that are shown wrongly: "3 shown as 5"."""
        pairs, counts = np.unique(np.column_stack([predicted, shown]), axis=0, return_counts=True)
        a, b = pairs[counts.argmax()]
        return f"{self.classes[a]} shown as {self.classes[b]}"

    def typical(self, values: np.ndarray) -> float:
        """What a region of the picture shows: the commonest class of its rows' cells."""
        return float(np.bincount(values).argmax())

    def region_name(self, values: list[float], number: int) -> str:
        """The name of one of the regions that show `values`: the class, numbered where it has several regions."""
        same = [other for other in range(len(values)) if values[other] == values[number]]
        label = str(self.classes[int(values[number])])
        return label if len(same) == 1 else f"{label} ({1 + same.index(number)} of {len(same)})"

    def scale(self, view: Any) -> Any:
        """The certainty that gets the full colour: what nine in ten rows do not exceed."""
        return 1.0 if view.certainty is None else float(np.quantile(view.certainty, 0.9))

    def paint(self, view: Any, *, opaque: bool = True) -> np.ndarray:
        """The picture of a view as RGBA bytes: colours of the classes, deeper where the model is surer."""
        return paint_classes(view.grid, len(self.classes), self.scale(view), opaque=opaque)


@dataclass(frozen=True, eq=False)
class Regression:
    """The task of a regressor, with the verbs of `Classification`; answers are numbers and there are no classes."""

    classes: np.ndarray = field(default_factory=lambda: np.empty(0))
    kind: ClassVar[str] = "real"
    has_classes: ClassVar[bool] = False
    picture: ClassVar[str] = "Output"
    noun: ClassVar[str] = "value"

    def check(self, y: Any) -> Any:
        """Numbers, NaN where they are missing."""
        return make_target(y, len(y), "real").values

    def encode(self, y: Any) -> Any:
        """The numbers as they are."""
        return y

    def decode(self, values: np.ndarray) -> np.ndarray:
        """The numbers as they are."""
        return values

    def as_target(self, predicted: np.ndarray) -> np.ndarray:
        """The numbers as they are."""
        return predicted

    def answer(self, model: Any, rows: Any, values: np.ndarray) -> Answer:
        """The output, which must be finite."""
        values = np.asarray(values, dtype=np.float64)
        if not np.isfinite(values).all():
            raise InputError(f"model {model_name(model)} predicts {int((~np.isfinite(values)).sum())} values "
                             "that are not finite; a picture cannot show them.")  # fmt: skip
        return Answer(values)

    def groups(self, predicted: np.ndarray, n_folds: int) -> np.ndarray | None:
        """None."""
        return None

    def chance(self, predicted: np.ndarray) -> float | None:
        """Numbers do not agree by chance."""
        return None

    def compare(self, predicted: Answer, shown: Answer) -> Fidelity:
        """Correlation of the output."""
        return fidelity(predicted.value, shown.value, target="real")

    def differs(self, predicted: np.ndarray, shown: np.ndarray) -> np.ndarray:
        """An output that is off by more than half its spread."""
        return np.asarray(np.abs(predicted - shown) > WRONG_SHARE * np.std(predicted))

    def mistake(self, predicted: np.ndarray, shown: np.ndarray) -> str:
        """ "too high" or "too low"."""
        return "too high" if np.mean(shown > predicted) > 0.5 else "too low"

    def typical(self, values: np.ndarray) -> float:
        """The median."""
        return float(np.median(values))

    def region_name(self, values: list[float], number: int) -> str:
        """The output."""
        return f"output near {values[number]:.3g}"

    def scale(self, view: Any) -> Any:
        """Ends of the colour scale: the middle 99 % of outputs and targets."""
        values = view.predicted
        if view.truth is not None:
            values = np.concatenate([values, view.truth[np.isfinite(view.truth)]])
        low, high = np.quantile(values, [0.005, 0.995])
        return (float(low), float(high)) if high > low else (float(low) - 0.5, float(high) + 0.5)

    def paint(self, view: Any, *, opaque: bool = True) -> np.ndarray:
        """Output on a scale of colours."""
        return paint_output(view.grid, *self.scale(view), opaque=opaque)


Task = Classification | Regression
#: By kind, made of the classes.
TASKS = {"class": Classification, "real": Regression}


def task_of(model: Any, predicted: np.ndarray, y: Any = None) -> Task:
    """The task of a model: what scikit-learn says of it, else what its answers on rows with target y look like."""
    if is_classifier(model) or (not is_regressor(model) and hasattr(model, "classes_")):
        kind = "class"
    elif is_regressor(model):
        kind = "real"
    else:
        kind = decide_target(predicted if y is None else np.asarray(y)).kind
    return Regression() if kind == "real" else Classification(classes_of(model, predicted, y))


def classes_of(model: Any, predicted: np.ndarray, y: Any) -> np.ndarray:
    """Every label of model and y, sorted; they must be of one kind."""
    known = np.asarray(getattr(model, "classes_", np.unique(predicted)))
    if len(known) < 2:
        raise InputError(
            f"model {model_name(model)} knows one class only ({str(known[0])!r}): there is no boundary to show. Train "
            "it on rows of at least two classes."
        )
    if y is None:
        return known
    labels = np.asarray(y)
    labels = labels[~missing_mask(labels)]
    if labels.dtype.kind == "O" and known.dtype.kind in "UO":
        labels, known = labels.astype(str), known.astype(str)
    if labels.dtype.kind in "if" and -1 not in known:
        labels = labels[labels != -1]
    if not np.isin(labels, known).any():
        shown = ", ".join(str(value) for value in known[:4]), ", ".join(str(v) for v in np.unique(labels)[:4])
        raise InputError(
            f"model {model_name(model)} says {shown[0]}, ... and y holds {shown[1]}, ...: they share no label. Pass y "
            "as the model was given it."
        )
    return np.unique(np.concatenate([known, labels]))
