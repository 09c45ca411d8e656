"""Networks in ONNX files: the same answers as the network itself, as a view and as a posterior."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.neural_network import MLPClassifier, MLPRegressor

from prismap.exceptions import FileFormatError
from prismap.inspection import ModelView, OnnxModel
from prismap.inspection._onnx_model import as_probabilities
from prismap.metrics import FisherMetric

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def write(network, path, n_out, *, softmax=False):
    """The layers of scikit-learn's network as a graph; its logits, or probabilities, or numbers."""
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    arrays = {f"W{i}": w for i, w in enumerate(network.coefs_)} | {
        f"b{i}": b for i, b in enumerate(network.intercepts_)
    }
    nodes = [
        helper.make_node("Gemm", ["x", "W0", "b0"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "W1", "b1"], ["z" if softmax else "out"]),
    ]  # fmt: skip
    nodes += [helper.make_node("Softmax", ["z"], ["out"], axis=1)] if softmax else []
    graph = helper.make_graph(
        nodes, "network", [helper.make_tensor_value_info("x", floats, [None, 4])],
        [helper.make_tensor_value_info("out", floats, [None, n_out])],
        [onnx.numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 9
    onnx.save(model, path)
    return OnnxModel.from_file(path)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::3], y[::3]


@pytest.fixture(scope="module")
def network(iris):
    return MLPClassifier((6,), max_iter=2000, tol=1e-3, random_state=0).fit(*iris)


@pytest.mark.parametrize("softmax", [False, True])
def test_a_network_answers_as_itself(iris, network, tmp_path, softmax):
    X, _ = iris
    model = write(network, tmp_path / "net.onnx", 3, softmax=softmax)
    assert model.kind == "network"
    np.testing.assert_allclose(model.predict_proba(X), network.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), network.predict(X))
    named = OnnxModel.from_file(tmp_path / "net.onnx", classes=["a", "b", "c"])
    np.testing.assert_array_equal(named.predict(X), np.array(["a", "b", "c"])[network.predict(X)])
    assert clone(named).classes == ["a", "b", "c"]


def test_it_is_a_posterior_along_segments(iris, network, tmp_path):
    X, y = iris
    options = {"random_state": 0, "perplexity": 10}
    by_file = FisherMetric(posterior=write(network, tmp_path / "net.onnx", 3), **options).fit(X, y).pairwise()
    itself = FisherMetric(posterior=network, **options).fit(X, y).pairwise()
    np.testing.assert_allclose(by_file, itself, atol=2e-3)


def test_a_view_of_it(iris, network, tmp_path):
    X, y = iris
    model = write(network, tmp_path / "net.onnx", 3)
    mine, itself = (ModelView.from_estimator(one, X, y, grid_resolution=20) for one in (model, network))
    np.testing.assert_array_equal(mine.predicted, itself.predicted)


def test_a_regressor_has_no_classes(iris, tmp_path):
    X, y = iris
    network = MLPRegressor(hidden_layer_sizes=(5,), max_iter=2000, tol=1e-2, random_state=0).fit(X, y)
    model = write(network, tmp_path / "net.onnx", 1)
    assert model.kind == "regressor"
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "classes_")
    np.testing.assert_allclose(model.predict(X), network.predict(X), atol=1e-4)


def test_probabilities_row_by_row():
    mixed = np.array([[0.2, 0.8], [-1.0, 2.0], [3.0, 3.0]])
    together, alone = as_probabilities(mixed), np.vstack([as_probabilities(row[None]) for row in mixed])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_allclose(together.sum(axis=1), 1)


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "no.onnx").write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match="cannot be read as an ONNX model"):
        OnnxModel.from_file(tmp_path / "no.onnx")
