"""The exported graph gives what transform gives."""

import numpy as np
import pytest

from prismap.exceptions import InputError
from prismap.mappings import InverseMap, KernelMap, VoteMap, to_onnx

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


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


@pytest.mark.parametrize("n_neighbors", [1, 10, 500])
def test_votes_export_too(rows, n_neighbors):
    X, Y = rows
    model = VoteMap(n_neighbors).fit(X[:150], np.sign(Y[:150]) * 50 + Y[:150])
    new = np.vstack([X[150:], X[:1], X[:1] + 1e4])
    np.testing.assert_allclose(run(to_onnx(model), new), model.transform(new), atol=1e-7)


def test_votes_of_duplicates_are_no_division_by_zero(rows):
    X, Y = rows
    X[:20] = X[0]
    model = VoteMap().fit(X, Y)
    np.testing.assert_allclose(run(to_onnx(model), X[:1]), model.transform(X[:1]), atol=1e-7)


def test_votes_in_single_precision_agree_for_nearly_all_rows(rows):
    X, Y = rows
    model = VoteMap().fit(X[:150], Y[:150])
    found = run(to_onnx(model, dtype="float32"), X[150:].astype(np.float32))
    off = np.abs(found - model.transform(X[150:])).max(axis=1)
    assert (off < 1e-4 * np.abs(Y).max()).mean() > 0.9


def test_what_cannot_be_exported_is_refused(rows):
    X, Y = rows
    for model in (KernelMap("elm"), KernelMap(metric="manhattan"), VoteMap(metric="manhattan")):
        with pytest.raises(InputError, match="metric='euclidean'"):
            to_onnx(model.fit(X, Y))
    with pytest.raises(InputError, match="dtype must be"):
        to_onnx(KernelMap().fit(X, Y), dtype="float16")
