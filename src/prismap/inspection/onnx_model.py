"""A trained model in an ONNX file, asked through onnxruntime: no code of the file's is run but its graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from prismap._optional import import_extra
from prismap.exceptions import FileFormatError, InputError


class OnnxModel(BaseEstimator):
    """A model with one input, rows of numbers; its first output is what it predicts.

    Parameters
    ----------
    session : onnxruntime.InferenceSession
    name : what it is called in titles.
    """

    def __init__(self, session: Any, name: str = "ONNX model"):
        self.session = session
        self.name = name

    @classmethod
    def from_file(cls, path: str | Path) -> OnnxModel:
        """The model in a file."""
        runtime = import_extra("onnxruntime", extra="dev", feature="reading an ONNX model")
        try:
            session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        except Exception as error:
            raise FileFormatError(f"{path} cannot be read as an ONNX model: {error}") from error
        inputs = session.get_inputs()
        if len(inputs) != 1 or inputs[0].type not in ("tensor(float)", "tensor(double)"):
            found = ", ".join(f"{one.name} ({one.type})" for one in inputs)
            raise InputError(f"{path} takes {found}; a view needs a model of one tensor of numbers.")
        model = cls(session, Path(path).stem)
        if len(inputs[0].shape) == 2 and isinstance(inputs[0].shape[1], int):
            model.n_features_in_ = inputs[0].shape[1]
        return model

    def predict(self, X: Any) -> NDArray[Any]:
        """The model's first output for rows X."""
        (entry,) = self.session.get_inputs()
        dtype = np.float32 if entry.type == "tensor(float)" else np.float64
        return np.asarray(self.session.run([self.session.get_outputs()[0].name], {entry.name: np.asarray(X, dtype)})[0])
