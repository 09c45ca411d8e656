"""`prismap map` for real: what the folder holds, what is said, and what is left when it goes wrong."""

import importlib.util
import io
import json
import os
import signal

import numpy as np
import pytest

from cli.flowers import tree, write_flowers
from prismap.bundle._json import unsealed
from prismap.cli import demo
from prismap.map import FittedMap, PrisMap
from prismap.map._methods import METHODS
from prismap.map._time_budget import Pace
from prismap.page._folder import load_folder
from prismap.quality import MapReport
from prismap.quality._report_text import marked

parquet = pytest.importorskip("pyarrow.parquet")
FILES = ["map.html", "map.page", "map.parquet", "map.png", "model.prismap", "report.json"]


def seen_in(folder):
    """The names in a folder, without that of its marks."""
    return sorted(set(os.listdir(folder)) - {".prismap"})


@pytest.fixture
def quick(run, tmp_path):
    """A map without a target, which takes no time to judge."""

    def quick(data, *options):
        return run("map", data, "--target-kind", "none", "--perplexity", "8", "-o", tmp_path / "out", *options)

    return quick


def test_the_folder_holds_everything_and_nothing_else(made):
    folder, _, _ = made
    assert seen_in(folder) == FILES
    assert sorted(os.listdir(folder.parent)) == ["flowers.csv", "out"]
    assert (folder / "map.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "map.html").read_text(encoding="utf-8")
    assert "<title>&lt;b&gt;Flowers&lt;/b&gt;</title>" in page


def test_the_report_is_printed_and_stored(made, run):
    folder, out, err = made
    document = json.loads((folder / "report.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    report = MapReport.from_dict(document)
    said = [line.removeprefix("note: ") for line in err.splitlines() if line.startswith("note: ")]
    assert said
    summary = report.summary("prismap report out --details")
    assert out == f"{summary}\n\nout: {', '.join(FILES)}\n"
    assert len(summary.splitlines()) <= 12
    assert document["n_fitted"] == 36
    assert any("soil (2)" in note for note in document["notes"])
    assert any("standardised" in note for note in document["notes"])
    assert "note: columns were standardised (mean 0, variance 1); --no-standardize keeps them" in err
    assert run("report", folder) == (0, f"{report.summary(f'prismap report {folder} --details')}\n", "")
    assert run("report", folder / "report.json", "--quiet", "--details")[1] == f"{report.details}\n"
    assert json.loads(run("report", folder, "--json")[1]) == unsealed(document)
    printed = " ".join(run("report", folder / "model.prismap", "--quiet", "--details")[1].split())
    assert all(marked(one)[1] in printed for one in report.statements if one.id not in ("limit", "note"))


def test_the_map_has_a_row_for_every_row(made):
    table = parquet.read_table(made[0] / "map.parquet")
    assert table.column_names == ["id", "x", "y", "split", "far", "trust", "target"]
    rows = table.to_pydict()
    assert rows["id"] == [f"f{row}" for row in range(48)]
    assert rows["target"] == [("setosa", "virginica", "versicolor")[row % 3] for row in range(48)]
    trust = [value for value, far in zip(rows["trust"], rows["far"], strict=True) if not far]
    assert 0 < min(trust) <= max(trust) < 1
    assert rows["split"].count("fit") == 36
    assert rows["split"].count("placed") == 12
    assert not any(far for far, split in zip(rows["far"], rows["split"], strict=True) if split == "fit")
    assert np.isfinite([rows["x"], rows["y"]]).all()


def test_the_model_is_the_map(made):
    folder, _, _ = made
    model = PrisMap.load(folder / "model.prismap")
    rows = parquet.read_table(folder / "map.parquet").to_pydict()
    fitted = [row for row, split in enumerate(rows["split"]) if split == "fit"]
    Y = np.transpose([rows["x"], rows["y"]])[fitted]
    np.testing.assert_array_equal(model.embedding_, Y)
    encoding = model.encoding_
    assert encoding.feature_names == ["sl", "sw", "pl", "pw", "soil=clay", "soil=sand"]
    assert (encoding.target, encoding.ids, encoding.text_target) == ("species", "key", True)


def test_the_same_command_gives_the_same_map(quick, flowers, tmp_path):
    assert quick(flowers, "--id", "key", "--quiet")[0] == 0
    first = (tmp_path / "out" / "model.prismap").read_bytes(), (tmp_path / "out" / "map.parquet").read_bytes()
    code, _, err = quick(flowers, "--id", "key", "--quiet")
    assert (code, err) == (2, f"prismap: {tmp_path / 'out'} holds a map already: --force replaces it.\n")
    assert quick(flowers, "--id", "key", "--quiet", "--force")[0] == 0
    positions = [
        parquet.read_table(io.BytesIO(data)).to_pydict()
        for data in (first[1], (tmp_path / "out" / "map.parquet").read_bytes())
    ]
    assert positions[0] == positions[1]


def test_kernel_methods_by_name(quick, flowers, tmp_path):
    code, _, err = quick(flowers, "--id", "key", "--method", "kpca")
    assert code == 0, err
    assert PrisMap.load(tmp_path / "out" / "model.prismap").method == "kpca"
    code, _, err = quick(flowers, "--id", "key", "--method", "kda", "--force")
    assert code == 2
    assert "(--method kda) separates classes" in err


def test_an_arrangement_is_asked_for_and_kept(quick, refused, flowers, tmp_path):
    code, _, err = quick(flowers, "--id", "key", "--arrangement", "0.5")
    assert code == 0, err
    made = PrisMap.load(tmp_path / "out" / "model.prismap")
    assert made.method.descent.arrangement == 0.5
    assert made.method.perplexity == 8
    assert made.map_.story["arrangement"] == 0.5
    assert "arrangement=0.5: groups of rows were pulled" in (tmp_path / "out" / "report.json").read_text("utf-8")
    err = refused("map", flowers, "-o", tmp_path / "other", "--method", "mds", "--arrangement", "0.5")
    assert "--arrangement is for --method tsne; mds has no such setting." in err
    assert "auto or a number from 0 to 1 is needed; got '2'" in refused(
        "map", flowers, "-o", tmp_path / "other", "--arrangement", "2"
    )


def test_a_map_stays_where_an_earlier_one_was(quick, run, refused, tmp_path):
    january, february = write_flowers(tmp_path / "january.csv"), tmp_path / "february.csv"
    lines = january.read_text("utf-8").splitlines(keepends=True)
    february.write_text("".join([lines[0], *lines[9:]]), encoding="utf-8")
    assert quick(january, "--id", "key", "--quiet")[0] == 0
    new = tmp_path / "new"
    options = ("--id", "key", "--target-kind", "none", "--perplexity", "8", "--seed", "3", "-o", new)
    code, _, err = run("map", february, *options, "--like", tmp_path / "out")
    assert code == 0, err
    words = f"of {len(lines) - 9} rows were on it"
    assert f"{len(lines) - 9} {words}" in err
    assert sum(words in note for note in json.loads((new / "report.json").read_text("utf-8"))["notes"]) == 1
    assert words in PrisMap.load(new / "model.prismap").map_.story["like"]
    (version,) = load_folder(new).versions
    assert version.label == "out"
    assert len(version.gone) == 8
    assert "nothing.prismap" in refused("map", february, "-o", tmp_path / "x", "--like", tmp_path / "nothing.prismap")


def test_the_help_names_every_method(run):
    words = run("map", "--help")[1].replace(",", " ").split()
    assert set(METHODS) <= set(words)


def test_json_and_quiet(quick, flowers, tmp_path):
    code, out, err = quick(flowers, "--id", "key", "--json", "--quiet")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["files"] == FILES
    assert answer["report"]["target"] == "none"


def test_what_was_noticed_is_said(quick, tmp_path):
    path = tmp_path / "d.csv"
    write_flowers(path, n_rows=45, soil=["clay"] * 45, pw=["", *["1.5"] * 43, "2"])
    path.write_text(path.read_text().replace(",", ";"), encoding="utf-8")
    code, _, err = quick(path, "--id", "key", "--drop", "species", "--impute", "median", "--perplexity", "30")
    assert code == 0
    assert "note: the columns of d.csv are divided by semicolons\n" in err
    assert "note: missing values were filled with the median (text: the most frequent level): 'pw' 1\n" in err
    assert "note: constant columns tell nothing and were kept: 'soil'\n" in err
    assert "note: the map has no target: it shows the data alone" in err
    assert err.count("is too high for") == err.count("note: --perplexity 30 is too high for 45 rows") == 1
    assert "columns are constant and carry no information" not in err


def test_duplicated_rows_are_fine(quick, tmp_path):
    path = write_flowers(tmp_path / "d.csv", n_rows=30)
    names, *rows = path.read_text().splitlines()
    path.write_text("\n".join([names, *rows, *rows]), encoding="utf-8")
    assert quick(path, "--drop", "key", "--quiet")[0] == 0


def test_matrices_of_pairs_are_mapped(quick, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.savez(tmp_path / "d.npz", S=D, kind="dissimilarity", y=np.arange(40) % 2)
    code, _, err = quick(tmp_path / "d.npz")
    assert code == 0, err
    assert "standardised" not in err
    assert "note: the target was left out (--target-kind none)" in err
    assert PrisMap.load(tmp_path / "out" / "model.prismap").data == "dissimilarity"


@pytest.mark.parametrize(
    ("matrix", "kind", "message"),
    [
        (lambda D: D, "similarity", "Set --data dissimilarity."),
        (lambda D: D + 1, "dissimilarity", "set --data similarity."),
        (lambda D: np.triu(D), "dissimilarity", "must be symmetric"),
        (lambda D: -D, "dissimilarity", "must not be negative"),
        (lambda D: D[:, :-1], "dissimilarity", "as many columns as rows"),
    ],
)
def test_matrices_that_are_not_what_they_should_be(refused, tmp_path, matrix, kind, message):
    D = np.abs(np.subtract.outer(np.arange(30.0), np.arange(30.0)))
    np.save(tmp_path / "d.npy", matrix(D))
    assert message in refused("map", tmp_path / "d.npy", "--data", kind, "-o", tmp_path / "out")


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ({"species": ["setosa"] * 48}, [], "holds only one class"),
        ({}, ["--method", "magic"], "--method 'magic' is not known; there are tsne, nerv"),
        ({"n_rows": 1}, [], "1 sample"),
        ({}, ["--target-kind", "real"], "real"),
    ],
)
def test_rows_that_make_no_map(refused, tmp_path, rows, options, message):
    path = write_flowers(tmp_path / "d.csv", **{"n_rows": 48, **rows})
    words = ("--target", "species", "--drop", "key,soil", "-o", tmp_path / "out")
    assert message in refused("map", path, *words, *options)


def test_a_target_of_another_length_is_refused(refused, tmp_path):
    np.savez(tmp_path / "d.npz", X=np.zeros((5, 2)), y=np.zeros(4))
    assert "y must have one entry for each of the 5 rows" in refused("map", tmp_path / "d.npz", "-o", tmp_path / "out")


@pytest.mark.parametrize("stage", ["fit", "save", "page", "plot"])
def test_an_interrupted_run_leaves_nothing(run, flowers, tmp_path, monkeypatch, stage):
    def interrupted(*args, **options):
        signal.raise_signal(signal.SIGTERM if stage == "save" else signal.SIGINT)

    elsewhere = {"page": "prismap.cli.job.write_html", "plot": "prismap.inspection.MapDisplay.plot"}
    monkeypatch.setattr(elsewhere.get(stage, f"prismap.map.PrisMap.{stage}"), interrupted)
    before = tree(tmp_path)
    words = ("map", flowers, "--target-kind", "none", "--id", "key", "--quiet", "-o", tmp_path / "out")
    assert run(*words) == (130, "", "prismap: stopped\n")
    assert tree(tmp_path) == before


def test_a_map_is_there_before_it_is_judged(run, flowers, tmp_path, monkeypatch):
    def interrupted(*args, **options):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("prismap.map.PrisMap.report", interrupted)
    words = ("map", flowers, "--target-kind", "none", "--id", "key", "-o", tmp_path / "out")
    code, _, err = run(*words)
    assert code == 130
    assert "map.html is there; the verdict follows" in err
    assert "has not been judged" in load_folder(tmp_path / "out").notes[0]
    assert not (tmp_path / "out" / "report.json").exists()


def test_rows_that_are_not_fitted_are_placed_once(quick, flowers, tmp_path, monkeypatch):
    placed, place = [], FittedMap.place
    monkeypatch.setattr(FittedMap, "place", lambda parts, rows: placed.append(rows.shape[0]) or place(parts, rows))
    code, _, err = quick(flowers, "--id", "key", "--fit-rows", "30")
    assert code == 0, err
    rows = parquet.read_table(tmp_path / "out" / "map.parquet").to_pydict()
    assert placed == [rows["split"].count("placed")]
    assert placed[0] > 0


def test_a_time_takes_the_rows_it_allows_and_says_so_once(quick, flowers, tmp_path, monkeypatch):
    monkeypatch.setattr("prismap.map._fitting.pace_of", lambda asked, n, *_, **__: Pace(asked, 30, n, 55.0, 2.0))
    code, out, err = quick(flowers, "--id", "key", "--fit-rows", "10 min")
    assert code == 0, err
    assert err.count("note: --fit-rows '10 min' took 30 of ") == 1
    assert "--fit-rows 30 gives the same map anywhere" in err
    assert "10 min" not in out  # it has been said
    folder = load_folder(tmp_path / "out")
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    for notes in (folder.notes, report["notes"]):
        assert sum("10 min" in note for note in notes) == 1
    model = PrisMap.load(tmp_path / "out" / "model.prismap")
    assert (model.fit_rows, len(model.fit_rows_)) == ("10 min", 30)


def test_a_quick_map_is_not_judged_and_says_so(run, flowers, tmp_path, monkeypatch):
    monkeypatch.setattr(PrisMap, "report", None)
    words = ("--target", "species", "--id", "key", "--perplexity", "8", "--quiet", "-o", tmp_path / "out")
    code, out, err = run("map", flowers, "--quick", *words)
    assert code == 0, err
    assert out.startswith("The map was not judged (--quick).")
    assert "report.json" not in os.listdir(tmp_path / "out")
    assert "has not been judged" in load_folder(tmp_path / "out").notes[0]


def test_columns_can_be_shown_without_being_used(run, refused, tmp_path):
    days = [f"2024-05-{1 + row % 28:02d}" for row in range(48)]
    path = write_flowers(tmp_path / "d.csv", n_rows=48, day=days, note=[f"note {row}" for row in range(48)])
    words = ("--target-kind", "none", "--target", "species", "--id", "key", "--perplexity", "8", "-o", tmp_path / "out")
    code, _, err = run("map", path, "--show", "day,note", *words)
    assert code == 0, err
    page = load_folder(tmp_path / "out")
    assert list(page.columns) == ["sl", "sw", "pl", "pw", "soil", "day", "note", "trust"]
    assert page.columns["day"][0] == np.datetime64("2024-05-01")
    assert "note" not in page.relevance.names
    assert PrisMap.load(tmp_path / "out" / "model.prismap").n_features_in_ == 6
    assert run("apply", tmp_path / "out", path, "-o", tmp_path / "placed.csv", "--quiet")[0] == 0
    assert "there is no column 'nota' for show; did you mean 'note'" in refused(
        "map", path, "--show", "nota", "--force", *words
    )


def test_a_full_disk_leaves_nothing(run, flowers, tmp_path, monkeypatch):
    def full(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(PrisMap, "save", full)
    before = tree(tmp_path)
    code, out, err = run("map", flowers, "--target-kind", "none", "--id", "key", "--quiet", "-o", tmp_path / "out")
    assert (code, out) == (1, "")
    assert err == "prismap: [Errno 28] No space left on device\n"
    assert tree(tmp_path) == before


def test_without_the_extras_there_is_a_csv_and_no_picture(quick, flowers, tmp_path, monkeypatch):
    find = importlib.util.find_spec
    absent = ("pyarrow", "matplotlib")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name in absent else find(name, *more))
    code, _, err = quick(flowers, "--id", "key")
    assert code == 0, err
    assert sorted(os.listdir(tmp_path / "out")) == [
        ".prismap",
        "map.csv",
        "map.html",
        "map.page",
        "model.prismap",
        "report.json",
    ]
    assert "no map.png: that needs matplotlib" in err
    lines = (tmp_path / "out" / "map.csv").read_text().splitlines()
    assert lines[0] == "id,x,y,split,far,trust"
    assert len(lines) == 91


def test_the_demo_tables_can_be_mapped_and_placed(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, said, _ = run("demo", "--tables")
    assert code == 0
    assert "flowers.csv: 120 rows" in said
    assert run("map", "flowers.csv", "--target", "species", "--supervision", "0", "-o", "flowers", "--quiet")[0] == 0
    assert run("apply", "flowers", "more.csv", "-o", "placed.csv", "--quiet")[0] == 0
    assert len((tmp_path / "placed.csv").read_text(encoding="utf-8").splitlines()) == 31
    code, _, err = run("demo", "--tables")
    assert code == 2
    assert "flowers.csv is there already" in err


def test_the_demo_is_the_digits(run, tmp_path, monkeypatch):
    job = demo.digits_job()
    assert job.X.shape == (1797, 64)
    assert job.images.shape == (1797, 8, 8)
    assert job.images.max() == 255
    assert len(job.encoding.feature_names) == 64
    np.testing.assert_array_equal(np.unique(job.y), np.arange(10))
    few = slice(0, 40)
    small = demo.Job(
        job.X[few], None, job.encoding, job.title, {"random_state": 0, "perplexity": 8}, images=job.images[few]
    )
    monkeypatch.setattr(demo, "digits_job", lambda: small)
    for _ in range(2):  # the second time it replaces itself
        assert run("demo", "-o", tmp_path / "demo", "--quiet")[0] == 0
    assert seen_in(tmp_path / "demo") == FILES
