"""`prismap apply` for real: new files on an old map, treated as the first one was."""

import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from cli.flowers import tree, write_flowers
from prismap.bundle import read_bundle, write_bundle
from prismap.cli.main import main
from prismap.map import PrisMap
from prismap.scale import _files as files

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The folder of a map without a target, with a text column, ids and filled values."""
    folder = tmp_path_factory.mktemp("model")
    write_flowers(folder / "flowers.csv", n_rows=60)
    words = ["map", folder / "flowers.csv", "--target", "species", "--supervision", "0", "--id", "key"]
    options = ["--impute", "median", "--perplexity", "8", "--quiet", "--json", "-o", folder / "out"]
    assert main([str(word) for word in [*words, *options]]) == 0
    return folder / "out"


@pytest.fixture
def place(run, model, tmp_path):
    """Apply the model to a file and return (table of the result, stdout, stderr)."""

    def place(data, *options, out="placed.parquet"):
        code, said, err = run("apply", model, data, "-o", tmp_path / out, *options)
        assert code == 0, err
        return parquet.read_table(tmp_path / out).to_pydict() if out.endswith(".parquet") else None, said, err

    return place


def positions(rows):
    return np.transpose([rows["x"], rows["y"]])


@pytest.mark.posix
def test_what_a_killed_run_has_left_is_removed(place, model, tmp_path):
    left = tmp_path / ".placed.0123abcd.parquet"
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    place(model.parent / "flowers.csv", "--quiet")
    assert not left.exists()


def test_the_rows_of_the_map_fall_on_themselves(place, model):
    rows, said, err = place(model.parent / "flowers.csv", "--quiet")
    first = parquet.read_table(model / "map.parquet").to_pydict()
    np.testing.assert_allclose(positions(rows), positions(first), atol=1e-9)
    assert list(rows) == ["id", "x", "y", "split", "far", "distance", "row", "trust", "target"]
    np.testing.assert_allclose(rows["trust"], first["trust"], atol=1e-9)
    assert rows["id"] == first["id"]
    assert rows["target"] == first["target"]
    assert set(rows["split"]) == {"new"}
    assert not any(rows["far"])
    assert "60 rows placed, 0 of them far from all rows of the map" in said
    assert err == ""


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_other_columns_are_kept_if_wanted(place, model, tmp_path, ending):
    path = model.parent / "flowers.csv"
    if ending == "parquet":
        names, *lines = [line.split(",") for line in path.read_text().splitlines()]
        texts = dict(zip(names, zip(*lines, strict=True), strict=True))
        numbers = {
            name: [float(value) if value else None for value in texts[name]] for name in ("sl", "sw", "pl", "pw")
        }
        parquet.write_table(pa.table({**texts, **numbers, "x": texts["soil"]}), path := tmp_path / "flowers.parquet")
    rows, _, _ = place(path, "--keep-columns")
    columns = ["sl", "sw", "pl", "pw", "soil"]
    assert set(columns) <= set(rows)
    if ending == "parquet":
        assert rows["x (source)"] == rows["soil"]
        assert isinstance(rows["x"][0], float)
    again, _, _ = place(path, "--resume")  # what was kept belongs to what an output was made of
    assert "soil" not in again


def test_order_of_columns_and_target_do_not_matter(place, tmp_path):
    path = write_flowers(tmp_path / "new.csv", n_rows=20, seed=3)
    rows, _, _ = place(path)
    lines = [line.split(",") for line in path.read_text().splitlines()]
    shuffled = tmp_path / "shuffled.tsv"
    shuffled.write_text("\n".join("\t".join([*reversed(line[1:-1]), "extra"]) for line in lines), encoding="utf-8")
    again, _, _ = place(shuffled, out="again.parquet")
    np.testing.assert_array_equal(positions(again), positions(rows))
    assert again["id"] == list(range(20))
    assert "target" not in again


def test_batches_change_nothing(place, tmp_path, monkeypatch):
    path = write_flowers(tmp_path / "new.csv", n_rows=20, seed=3, soil=["sand", "", "peat", "clay"] * 5)
    rows, _, err = place(path)
    monkeypatch.setattr(files, "batch_rows", lambda n_features: 7)
    pieces, said, err_pieces = place(path, out="pieces.parquet")
    assert pieces.pop("x") == pytest.approx(rows.pop("x"), rel=1e-12)
    assert pieces.pop("y") == pytest.approx(rows.pop("y"), rel=1e-12)
    assert pieces == rows
    assert "20 rows placed" in said
    for said in (err, err_pieces):
        assert "note: 5 missing values of 'soil' were filled as at the fit\n" in said
        assert "note: column 'soil' has levels in 5 of the rows that the map has not seen" in said


def test_rows_without_ids_are_numbered_through(place, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "batch_rows", lambda n_features: 7)
    rows, _, _ = place(write_flowers(tmp_path / "new.csv", n_rows=20, key=None))
    assert rows["id"] == list(range(20))


def test_parquet_in_csv_out(place, tmp_path):
    path = write_flowers(tmp_path / "new.csv", n_rows=9, seed=3)
    expected, _, _ = place(path)
    names, *lines = [line.split(",") for line in path.read_text().splitlines()]
    columns = dict(zip(names, zip(*lines, strict=True), strict=True))
    numbers = {name: [float(value) for value in columns[name]] for name in ("sl", "sw", "pl", "pw")}
    parquet.write_table(pa.table({"soil": columns["soil"], **numbers}), tmp_path / "new.parquet")
    place(tmp_path / "new.parquet", out="placed.csv")
    header, *rows = (tmp_path / "placed.csv").read_text().splitlines()
    assert header == "id,x,y,split,far,distance,row,trust"
    found = np.array([[float(value) for value in row.split(",")[1:3]] for row in rows])
    np.testing.assert_allclose(found, positions(expected), atol=1e-12)


def test_far_rows_are_marked(place, tmp_path):
    path = write_flowers(tmp_path / "new.csv", n_rows=6, seed=3, sl=["1e6", *["1.0"] * 5])
    rows, said, _ = place(path, "--json")
    assert rows["far"][0]
    answer = json.loads(said)
    assert answer["rows"] == 6
    assert answer["far"] == sum(rows["far"])


def test_unknown_classes_are_said(run, made, tmp_path):
    path = write_flowers(tmp_path / "new.csv", n_rows=4, species=["setosa", "rosa", "", "alba"])
    code, _, err = run("apply", made[0] / "model.prismap", path, "-o", tmp_path / "new.parquet")
    assert code == 0
    assert "note: classes the map was not fitted with: alba, rosa\n" in err
    target = parquet.read_table(tmp_path / "new.parquet").column("target").to_pylist()
    assert target == ["setosa", "rosa", None, "alba"]


def test_a_new_process_places_rows_alike(place, model, tmp_path):
    path = write_flowers(tmp_path / "new.csv", n_rows=20, seed=5)
    here, _, _ = place(path)
    out = tmp_path / "there.parquet"
    words = [sys.executable, "-m", "prismap.cli.main", "apply", str(model), str(path), "-o", str(out), "--quiet"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    there = parquet.read_table(out).to_pydict()
    np.testing.assert_allclose(positions(there), positions(here), rtol=0, atol=1e-12)


def test_maps_saved_from_python_are_applied_to_columns_as_they_are(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = PrisMap(perplexity=8, random_state=0).fit(X)
    model.save(tmp_path / "m.prismap")
    np.save(tmp_path / "new.npy", X[:5] + 0.01)
    assert run("apply", tmp_path / "m.prismap", tmp_path / "new.npy", "-o", tmp_path / "new.parquet")[0] == 0
    rows = parquet.read_table(tmp_path / "new.parquet").to_pydict()
    np.testing.assert_allclose(positions(rows), model.transform(X[:5] + 0.01), atol=1e-12)


def test_matrix_data_is_placed(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(45, 3))
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.savez(tmp_path / "d.npz", S=D[:40, :40])
    np.savez(tmp_path / "new.npz", S=D[40:, :40])
    words = ("--data", "dissimilarity", "--perplexity", "8", "--quiet", "-o", tmp_path / "out")
    assert run("map", tmp_path / "d.npz", *words)[0] == 0
    assert run("apply", tmp_path / "out", tmp_path / "new.npz", "-o", tmp_path / "new.parquet")[0] == 0
    assert parquet.read_table(tmp_path / "new.parquet").num_rows == 5


# Refusals

#: Most features of the map are absent, which a map without a target does not take.
NO_MEASURES = dict.fromkeys(("sl", "sw", "pl", "pw"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (NO_MEASURES, "lacks 4 of the 5 columns of the map: -'sl', -'sw', -'pl', -'pw'. The other columns tell too"),
        (
            {**NO_MEASURES, "SL": ["1"] * 9},
            "-'sl' (+'SL'?), -'sw', -'pl', -'pw'. The other columns tell too little to place rows by them. Columns the "
            "map does not know: 'SL'",
        ),
        ({"sl": ["tall"] * 9}, "column 'sl' held numbers when the map was fitted and holds text now, such as 'tall'"),
    ],
)
def test_files_with_other_columns_are_refused(refused, model, tmp_path, changes, message):
    path = write_flowers(tmp_path / "new.csv", n_rows=9, **changes)
    assert message in refused("apply", model, path, "-o", tmp_path / "out.parquet")


def test_missing_values_are_left_out_and_infinite_ones_refused(refused, run, tmp_path):
    np.save(tmp_path / "d.npy", np.random.default_rng(0).normal(size=(30, 3)))
    assert run("map", tmp_path / "d.npy", "--perplexity", "8", "--quiet", "-o", tmp_path / "out")[0] == 0
    np.save(tmp_path / "new.npy", np.array([[1, np.nan, 2], [1, 2, 3]]))
    code, _, said = run("apply", tmp_path / "out", tmp_path / "new.npy", "-o", tmp_path / "left.parquet")
    assert (code, "filled" in said) == (0, False)
    np.save(tmp_path / "new.npy", np.array([[1, np.nan, 2], [1, 2, np.inf]]))
    message = refused("apply", tmp_path / "out", tmp_path / "new.npy", "-o", tmp_path / "new.parquet")
    assert "infinite values in 1 column, of 2 rows: 'x2' 1" in message


def test_a_fault_late_in_the_file_leaves_nothing(refused, model, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "batch_rows", lambda n_features: 4)
    path = write_flowers(tmp_path / "new.csv", n_rows=9)
    with path.open("a", encoding="utf-8") as file:
        file.write("f9,1,2\n")
    for out in ("out.parquet", "out.csv"):
        assert "line 11: 3 fields, but 7 column names" in refused("apply", model, path, "-o", tmp_path / out)


def test_files_that_are_there_are_kept(refused, run, model, flowers, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("precious")
    assert "is there already: --force replaces it" in refused("apply", model, flowers, "-o", out)
    assert run("apply", model, flowers, "-o", out, "--force", "--quiet")[0] == 0
    assert out.read_text().startswith("id,x,y")
    assert "is one of the files to read" in refused("apply", model, flowers, "-o", flowers, "--force")
    assert "there is no folder" in refused("apply", model, flowers, "-o", tmp_path / "no" / "out.csv")


def test_models_that_are_none_are_refused(refused, model, flowers, tmp_path):
    path = tmp_path / "m.prismap"
    out = ("-o", tmp_path / "out.csv")
    assert "there is no file" in refused("apply", path, flowers, *out)
    assert "there is no file" in refused("apply", tmp_path, flowers, *out)
    assert "not written by prismap" in refused("apply", flowers, flowers, *out)
    good = (model / "model.prismap").read_bytes()
    path.write_bytes(good[: len(good) // 2])
    assert "is damaged, or was not written by prismap" in refused("apply", path, flowers, *out)
    np.savez(tmp_path / "foreign.npz", a=np.zeros(3))
    assert "was not written by prismap" in refused("apply", tmp_path / "foreign.npz", flowers, *out)
    write_bundle(path, {}, {"kind": "something else"})
    assert "holds no map but 'something else'" in refused("apply", path, flowers, *out)
    bundle = read_bundle(model / "model.prismap")
    write_bundle(path, bundle.arrays, {**bundle.header, "extra": {"table": {"columns": 3}}})
    assert "encoding of the columns stored with the map is damaged" in refused("apply", path, flowers, *out)


def test_a_newer_model_is_refused_with_the_way_out(refused, model, flowers, tmp_path):
    path = tmp_path / "m.prismap"
    with zipfile.ZipFile(model / "model.prismap") as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "header.json":
                content = json.dumps({**json.loads(content), "version": 99, "library": "9.0"}).encode()
            new.writestr(name, content)
    assert "format version 99 (prismap 9.0)" in refused("apply", path, flowers, "-o", tmp_path / "out.csv")


def test_an_interrupted_run_leaves_nothing(run, model, flowers, tmp_path, monkeypatch):
    def interrupted(self, X, **_):
        raise KeyboardInterrupt

    monkeypatch.setattr(PrisMap, "place", interrupted)
    before = tree(tmp_path)
    assert run("apply", model, flowers, "-o", tmp_path / "out.parquet", "--quiet") == (130, "", "prismap: stopped\n")
    assert tree(tmp_path) == before
    assert os.listdir(tmp_path) == ["flowers.csv"]


def birds(path, mass=1.0, wing=0.0, n_rows=60, seed=0, n_moved=None):
    """A csv file of two columns of numbers, of which the first `n_moved` rows are changed."""
    rng = np.random.default_rng(seed)
    masses, wings = rng.normal(4200, 500, n_rows), rng.normal(0, 1, n_rows)
    masses[:n_moved] *= mass
    wings[:n_moved] += wing
    lines = [f"{a:.3f},{b:.5f},{'ab'[row % 2]}" for row, (a, b) in enumerate(zip(masses, wings, strict=True))]
    path.write_text("\n".join(["mass,wing,kind", *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def aviary(tmp_path_factory):
    folder = tmp_path_factory.mktemp("birds")
    words = ["map", birds(folder / "birds.csv"), "--target", "kind", "--supervision", "0", "--perplexity", "8"]
    assert main([str(word) for word in [*words, "--quiet", "--json", "-o", folder / "out"]]) == 0
    return folder / "out"


@pytest.mark.parametrize(
    ("change", "said", "unsaid"),
    [
        ({"mass": 100.0}, "'mass': its median is 100 times as large (a change of unit?)", "wing"),
        ({"mass": 0.01}, "'mass': its median is 1/100 of what it was (a change of unit?)", "wing"),
        ({"wing": 50.0, "n_moved": 6}, "'wing': 10% of its values are outside of what the map knows (", "mass"),
        ({}, None, "far from what"),
    ],
)
def test_columns_that_the_map_does_not_know_are_named(run, aviary, tmp_path, change, said, unsaid):
    data = birds(tmp_path / "new.csv", seed=0 if "mass" in change else 1, **change)
    code, out, err = run("apply", aviary, data, "-o", tmp_path / "placed.parquet", "--json")
    assert code == 0, err
    assert unsaid not in err
    drifted = json.loads(out)["drifted"]
    if said is None:
        assert drifted == {}
        return
    assert said in err
    assert list(drifted) == [said.split("'")[1]]
    assert ("change of unit" in err) == ("median" in said)
    again = run("apply", aviary, data, "-o", tmp_path / "placed.parquet", "--resume")
    assert said in again[2]  # it is kept with the output


def test_columns_are_compared_alike_in_one_batch_and_in_many(run, aviary, tmp_path, monkeypatch):
    data, notes = birds(tmp_path / "new.csv", seed=2, mass=100.0, n_rows=300), []
    for rows in (1000, 50):
        monkeypatch.setattr(files, "batch_rows", lambda n_features, rows=rows: rows)
        code, out, err = run("apply", aviary, data, "-o", tmp_path / f"{rows}.csv", "--json")
        assert code == 0, err
        notes.append(float(json.loads(out)["drifted"]["mass"].split()[3]))
    assert notes == pytest.approx([100, 100], rel=0.05)
