"""A trained model in an ONNX file, asked through onnxruntime: no code of the file's is run but its graph.

The outputs decide which kind of model it is:

=============================================  =========================================================
outputs                                        taken for
=============================================  =========================================================
labels, then probabilities                     a classifier (as skl2onnx writes it)
one matrix of numbers with several columns     a network: probabilities, or else logits, made so by softmax
one number per row                             a regressor
=============================================  =========================================================
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from prismap._util.arrays import Numbers
from prismap._util.optional import import_extra
from prismap.exceptions import FileFormatError, InputError

#: How far the outputs of a network may miss a sum of one and still be probabilities.
TOLERANCE = 1e-3
#: Seconds that a graph may run for one batch of rows.
SECONDS = 600.0


class OnnxModel(BaseEstimator):
    """A model with one input, rows of numbers.

    Parameters
    ----------
    session : onnxruntime.InferenceSession
    name : str, default="ONNX model"
        What it is called in titles.
    classes : sequence, default=None
        The classes of a network, in the order of its outputs; None numbers them. A classifier names its own.

    Attributes
    ----------
    classes_ : array
        The classes of a network or classifier.

    See Also
    --------
    prismap.inspection.ModelView : What a model decides on a map.
    prismap.metrics.FisherMetric : A model's probabilities as the metric (``posterior=model``).

    Examples
    --------
    >>> model = OnnxModel.from_file("net.onnx", classes=["cat", "dog"])  # doctest: +SKIP
    >>> FisherMetric(posterior=model)  # doctest: +SKIP
    """

    def __init__(self, session: Any, name: str = "ONNX model", classes: Any = None) -> None:
        self.session = session
        self.name = name
        self.classes = classes

    @classmethod
    def from_file(cls, path: str | Path, *, classes: Any = None) -> OnnxModel:
        """The model in a file."""
        runtime = import_extra("onnxruntime", extra="onnx", feature="Reading an ONNX model")
        try:
            session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        except Exception as error:
            what = " ".join(str(error).split())[:300]
            raise FileFormatError(f"{path} cannot be read as an ONNX model: {what}") from error
        inputs = session.get_inputs()
        if len(inputs) != 1 or inputs[0].type not in ("tensor(float)", "tensor(double)"):
            tensors = ", ".join(f"{one.name} ({one.type})" for one in inputs)
            raise InputError(f"{path} takes {tensors}; a view needs a model of one tensor of numbers.")
        model = cls(session, Path(path).stem, classes)
        if len(inputs[0].shape) == 2 and isinstance(inputs[0].shape[1], int):
            model.n_features_in_ = inputs[0].shape[1]
        return model

    def __deepcopy__(self, memo: Any) -> OnnxModel:
        """Itself: a session cannot be copied, and nothing in it changes."""
        return self

    __sklearn_clone__ = __copy__ = lambda self: self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def kind(self) -> str:
        """What the outputs make it: "classifier", "network" or "regressor"."""
        first = self.session.get_outputs()[0]
        if first.type in ("tensor(int64)", "tensor(int32)", "tensor(string)", "tensor(bool)"):
            return "classifier"
        wide = len(first.shape) == 2 and first.shape[1] != 1
        return "network" if wide else "regressor"

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes in the order of the probabilities."""
        if self.kind == "regressor" or not hasattr(self, "predict_proba"):
            raise AttributeError("a model that gives numbers, or labels alone, does not say which classes there are")
        if self.classes is not None:
            return np.asarray(self.classes)
        if self.kind == "network":
            return np.arange(self.session.get_outputs()[0].shape[1])
        return self._stated_classes()

    def _stated_classes(self) -> NDArray[Any]:
        """The classes of a classifier: keys of its table of probabilities, or numbers."""
        answer = self._run(np.zeros((1, getattr(self, "n_features_in_", 1))))[1]
        return np.array(list(answer[0])) if isinstance(answer, list) else np.arange(np.shape(answer)[1])

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes, or numbers."""
        answers = self._run(X)
        if self.kind == "network":
            return np.asarray(self.classes_[np.argmax(answers[0], axis=1)])
        return np.asarray(answers[0]).reshape(len(X), -1)[:, 0]

    @available_if(lambda self: self.kind == "network" or len(self.session.get_outputs()) > 1)
    def predict_proba(self, X: Any) -> Numbers:
        """Probabilities of the classes."""
        answers = self._run(X)
        if self.kind == "network":
            return as_probabilities(np.asarray(answers[0], dtype=np.float64))
        table = answers[1]
        if isinstance(table, list):  # a dictionary per row
            table = [list(row.values()) for row in table]
        return np.asarray(table, dtype=np.float64)

    def _run(self, X: Any) -> list[Any]:
        (entry,) = self.session.get_inputs()
        dtype = np.float32 if entry.type == "tensor(float)" else np.float64
        outputs: list[Any] = run_within(self.session, {entry.name: np.asarray(X, dtype)}, SECONDS)
        return outputs


def run_within(session: Any, inputs: dict[str, Any], seconds: float) -> Any:
    """The outputs of a graph, which may hold a loop without an end."""
    options = import_extra("onnxruntime", extra="onnx", feature="Reading an ONNX model").RunOptions()
    timer = threading.Timer(seconds, lambda: setattr(options, "terminate", True))
    timer.daemon = True
    timer.start()
    try:
        return session.run(None, inputs, options)
    except Exception as error:
        late = f"did not end within {seconds:.0f} seconds" if options.terminate else f"gives an error: {error}"
        raise InputError(f"the ONNX model {' '.join(late.split())[:300]}") from error
    finally:
        timer.cancel()


def as_probabilities(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The outputs of a network as probabilities, row by row: as they are if they can be some, else their softmax.

    >>> as_probabilities(np.array([[0.25, 0.75], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    already = (outputs >= 0).all(axis=1) & (np.abs(outputs.sum(axis=1) - 1) <= TOLERANCE)
    probabilities: NDArray[np.float64] = np.where(already[:, None], outputs, softmax(outputs, axis=1))
    return probabilities
