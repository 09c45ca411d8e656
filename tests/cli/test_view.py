"""`prismap view`: a skops file and rows in, pictures and figures out; nothing unknown is loaded."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import skops.io as sio
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from cli.flowers import write_flowers
from prismap.cli.console import Console
from prismap.cli.view import labels_for, model_rows
from prismap.exceptions import InputError
from prismap.inspection import ModelView
from prismap.page._folder import read_page
from prismap.tables import Roles, read_table

MEASURES = ["sl", "sw", "pl", "pw"]


class Stranger(BaseEstimator):
    """A model of a type nobody vouched for."""

    def predict(self, X):
        return np.zeros(len(X))


def model_of(flowers, model, named=True):
    frame = pd.read_csv(flowers)
    return model.fit(frame[MEASURES] if named else frame[MEASURES].to_numpy(), frame["species"])


def test_view_writes_picture_page_and_figures(run, tmp_path):
    flowers = write_flowers(tmp_path / "few.csv", n_rows=48)
    model = model_of(flowers, make_pipeline(StandardScaler(), SVC()))
    sio.dump(model, tmp_path / "model.skops")
    words = ["view", tmp_path / "model.skops", flowers, "--target", "species", "--id", "key", "-o", tmp_path / "out"]
    code, out, err = run(*words, "--folds", 2, "--resolution", 40, "--json")
    assert code == 0, err
    assert "soil" in err  # left out, and said
    told = json.loads(out)
    assert sorted(told["files"]) == ["fidelity.json", "view.html", "view.png"]
    assert (tmp_path / "out" / "view.png").read_bytes()[:4] == b"\x89PNG"
    written = json.loads((tmp_path / "out" / "fidelity.json").read_text())
    assert written["agreement"] > 0.8
    assert written["n_folds"] == 2
    assert written["model"] == "SVC"
    page = read_page(tmp_path / "out" / "view.html")
    assert page.raster.rgba.shape == (40, 40, 4)
    assert list(page.target.classes) == ["setosa", "versicolor", "virginica"]
    assert page.target.name == "species"
    assert "labels agree on" in page.notes[-1]
    assert page.row_ids[0] == "f0"
    assert set(page.columns) == {*MEASURES, "trust"}
    code, _, err = run(*words)
    assert code == 2
    assert "--force replaces it" in err


@pytest.fixture
def refused_view(refused, flowers, tmp_path):
    def refused_view(model, *options, data=flowers):
        if not hasattr(model, "parent"):
            sio.dump(model, tmp_path / "model.skops")
            model = tmp_path / "model.skops"
        return refused("view", model, data, "--target", "species", "-o", tmp_path / "out", *options)

    return refused_view


def test_types_nobody_vouched_for_are_not_loaded(refused_view, run, flowers, tmp_path):
    message = refused_view(Stranger())
    assert "holds types that are not trusted" in message
    assert "--trust" in message
    name = f"{Stranger.__module__}.Stranger"
    assert name in message
    code, _, err = run(
        "view", tmp_path / "model.skops", flowers, "--target", "species", "--trust", name, "-o", tmp_path / "out"
    )
    assert code == 2
    assert "not trusted" not in err


def test_trees_need_no_trust(flowers, tmp_path):
    from prismap.cli.models import load_trusted

    model = model_of(flowers, RandomForestClassifier(3, random_state=0))
    sio.dump(model, tmp_path / "forest.skops")
    rows = pd.read_csv(flowers)[MEASURES]
    assert (load_trusted(tmp_path / "forest.skops", []).predict(rows) == model.predict(rows)).all()


def test_wrong_files_and_columns_are_named(refused_view, flowers, tmp_path):
    model = model_of(flowers, SVC())
    assert "there is no file" in refused_view(tmp_path / "nowhere.skops")
    (tmp_path / "text.skops").write_text("no model")
    assert "is no skops file" in refused_view(tmp_path / "text.skops")
    assert "lacks 1 of them: 'pw'" in refused_view(model, "--drop", "pw")
    nameless = model_of(flowers, SVC(), named=False)
    assert "hold text; a model that is no pipeline needs numbers" in refused_view(nameless, "--drop", "pw")


def test_missing_values_are_medians_and_counted(flowers, capsys):
    table = read_table(flowers, Roles("species", "key"))
    columns = table.columns | {"sl": np.array([np.nan, *np.asarray(table.columns["sl"])[1:]])}
    model = SVC().fit(np.zeros((2, 4)) + [[0.0], [1.0]], [3, 8])
    _, X, names = model_rows(model, replace(table, columns=columns), Console())
    assert names == ["sl", "sw", "pl", "pw"]  # a model that knows no names has as many columns as the file has numbers
    assert X[0, 0] == np.median(X[1:, 0])
    assert "filled with the median of their column for the picture: 'sl' 1" in capsys.readouterr().err


def test_labels_of_a_file_become_those_of_the_model():
    model = SVC().fit([[0.0], [1.0]], [3, 8])
    assert labels_for(model, np.array([3.0, 8.0, np.nan])).tolist() == [3, 8, None]
    assert labels_for(model, np.array(["8", "3"])).tolist() == [8, 3]
    assert labels_for(model, np.array(["a", "3"])).tolist() == ["a", "3"]


def test_the_way_back_is_chosen(run, tmp_path, monkeypatch):
    flowers = write_flowers(tmp_path / "few.csv", n_rows=30)
    sio.dump(model_of(flowers, SVC()), tmp_path / "model.skops")

    def asked(model, X, y, *, inverse, **options):
        raise InputError(f"asked for {inverse}")

    monkeypatch.setattr(ModelView, "from_estimator", asked)
    words = ["view", tmp_path / "model.skops", flowers, "--target", "species", "--id", "key", "-o", tmp_path / "out"]
    assert "asked for kernel" in run(*words, "--inverse", "kernel", "--quiet")[2]
    assert "asked for auto" in run(*words, "--quiet")[2]
