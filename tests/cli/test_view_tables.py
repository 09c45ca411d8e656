"""`prismap view` of models that handle the table themselves, and of models in other files than skops."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io as sio
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cli.flowers import write_flowers

MEASURES = ["sl", "sw", "pl", "pw"]


@pytest.fixture
def flowers(tmp_path):
    """A file with gaps among its numbers and its text."""
    path = write_flowers(tmp_path / "flowers.csv", n_rows=48)
    frame = pd.read_csv(path)
    frame.loc[3, "sl"] = frame.loc[7, "soil"] = None
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def pipeline(flowers):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = make_column_transformer((numbers, MEASURES), (words, ["soil"]))
    frame = pd.read_csv(flowers)
    return make_pipeline(columns, LogisticRegression()).fit(frame[[*MEASURES, "soil"]], frame["species"])


def view(run, model, flowers, out, *options):
    words = ["--target", "species", "--id", "key", "--folds", 2, "--resolution", 20, "--json", "-o", out]
    return run("view", model, flowers, *words, *options)


def test_a_pipeline_gets_the_table_as_it_is(run, flowers, pipeline, tmp_path):
    sio.dump(pipeline, tmp_path / "model.skops")
    code, out, err = view(run, tmp_path / "model.skops", flowers, tmp_path / "out")
    assert code == 0, err
    assert "ColumnTransformer made 6 features of 5 columns" in err
    told = json.loads(out)
    assert told["model"] == "LogisticRegression"
    assert told["agreement"] > 0.7


def test_what_a_pipeline_makes_is_what_it_was_trained_on(flowers, pipeline):
    from prismap.cli.console import Console
    from prismap.cli.view import model_rows
    from prismap.tables import Roles, read_table

    frame = pd.read_csv(flowers)
    model, X, names = model_rows(pipeline, read_table(flowers, Roles("species", "key")), Console(quiet=True))
    assert np.array_equal(X, pipeline[:-1].transform(frame))
    assert np.array_equal(model.predict(X), pipeline.predict(frame))
    assert names[-1] == "pipeline-2__soil_sand"


def test_pickles_are_loaded_only_when_they_are_trusted(run, refused, flowers, pipeline, tmp_path):
    joblib.dump(pipeline, tmp_path / "model.joblib")
    words = ("view", tmp_path / "model.joblib", flowers, "--target", "species", "-o", tmp_path / "out")
    message = refused(*words)
    assert "is a pickle: loading it runs whatever code it holds" in message
    assert "--trust-pickle" in message
    code, _, err = view(run, tmp_path / "model.joblib", flowers, tmp_path / "out", "--trust-pickle")
    assert code == 0, err
    (tmp_path / "model.joblib").write_bytes(b"no pickle")
    assert "cannot be loaded by this installation" in refused(*words[:-1], tmp_path / "other", "--trust-pickle")


def onnx_classifier(path, weights):
    """A linear classifier: the number of the largest of X W."""
    onnx = pytest.importorskip("onnx")
    helper, floats, ints = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
    nodes = [
        helper.make_node("MatMul", ["X", "W"], ["scores"]),
        helper.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0),
    ]
    graph = helper.make_graph(
        nodes, "linear",
        [helper.make_tensor_value_info("X", floats, [None, len(weights)])],
        [helper.make_tensor_value_info("label", ints, [None])],
        [helper.make_tensor("W", floats, weights.shape, weights.astype(np.float32).ravel())],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def test_onnx_models_are_shown(run, refused, tmp_path):
    pytest.importorskip("onnxruntime")
    weights = np.eye(3, 4).T
    model = onnx_classifier(tmp_path / "model.onnx", weights)
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + 3 * weights.T[kind]
    pd.DataFrame(X, columns=list("abcd")).assign(kind=kind).to_csv(tmp_path / "rows.csv", index=False)
    words = ["view", model, tmp_path / "rows.csv", "--target", "kind", "--folds", 2, "--resolution", 20]
    code, out, err = run(*words, "--json", "-o", tmp_path / "out")
    assert code == 0, err
    assert json.loads(out)["kind"] == "class"
    model.write_bytes(b"no graph")
    assert "cannot be read as an ONNX model" in refused(*words, "-o", tmp_path / "other")
