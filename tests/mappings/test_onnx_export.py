"""The exported graph gives what transform gives."""

import numpy as np
import pytest

from prismap.exceptions import InputError
from prismap.mappings import InverseMap, KernelMap

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from prismap.mappings.onnx_export import to_onnx  # noqa: E402


def run(exported, rows):
    session = onnxruntime.InferenceSession(exported.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": rows})[0]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6)) + 3
    return X, 20 * X[:, :2] + np.sin(X[:, 2:4])


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("n_landmarks", [None, 50])
def test_the_graph_equals_the_map(rows, normalize, n_landmarks):
    X, Y = rows
    model = KernelMap(normalize=normalize, n_landmarks=n_landmarks).fit(X[:150], Y[:150])
    new = np.vstack([X[150:], X[:1] + 1e5])
    np.testing.assert_allclose(run(to_onnx(model), new), model.transform(new), atol=1e-8)


def test_single_precision_agrees_to_the_size_of_the_map(rows):
    X, Y = rows
    model = KernelMap().fit(X[:150], Y[:150])
    found = run(to_onnx(model, dtype="float32"), X[150:].astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, model.transform(X[150:]), atol=1e-5 * np.abs(Y).max())


def test_an_inverse_map_exports_too(rows):
    X, Y = rows
    model = InverseMap().fit(Y, X)
    np.testing.assert_allclose(run(to_onnx(model), Y), model.transform(Y), atol=1e-8)


def test_what_cannot_be_exported_is_refused(rows):
    X, Y = rows
    for model in (KernelMap("elm"), KernelMap(metric="manhattan")):
        with pytest.raises(InputError, match="kernel='rbf' and metric='euclidean'"):
            to_onnx(model.fit(X, Y))
    with pytest.raises(InputError, match="dtype must be"):
        to_onnx(KernelMap().fit(X, Y), dtype="float16")
