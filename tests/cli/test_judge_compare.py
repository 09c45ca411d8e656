"""`prismap judge` and `prismap compare`."""

import json
import logging
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet
import pytest
from sklearn.base import clone

from cli.flowers import write_flowers
from prismap.cli import compare, methods


@pytest.fixture
def coordinates(tmp_path):
    """Flowers with the coordinates of two maps: one of the features, one of nothing."""
    rng = np.random.default_rng(0)
    kind = np.arange(90) % 3
    good = 3 * np.eye(3, 2)[kind] + rng.normal(size=(90, 2)) / 3
    bad = rng.normal(size=(90, 2))
    columns = {name: [f"{v:.4f}" for v in values] for name, values in zip(
        ("umap_1", "umap_2", "no_1", "no_2"), (*good.T, *bad.T), strict=True)}  # fmt: skip
    return write_flowers(tmp_path / "flowers.csv", **columns)


def test_coordinates_in_a_file_are_judged(run, coordinates, tmp_path):
    words = ("--x", "umap_1,no_1", "--y", "umap_2,no_2", "--target", "species", "--id", "key")
    code, out, err = run("judge", coordinates, *words, "-o", tmp_path / "out")
    assert code == 0, err
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        ".prismap",        "map.html", "map.parquet", "map.png", "verdicts.json", "verdicts.txt"
    }  # fmt: skip
    rows = pyarrow.parquet.read_table(tmp_path / "out" / "map.parquet").to_pydict()
    assert [*rows] == ["id", *(f"{what} ({of})" for of in ("umap_1, umap_2", "no_1, no_2")
                               for what in ("x", "y", "trust", "cluster"))]  # fmt: skip
    assert len(set(rows["cluster (umap_1, umap_2)"])) >= 3
    assert np.mean(rows["trust (umap_1, umap_2)"]) > 0.9 > 0.5 > np.mean(rows["trust (no_1, no_2)"])
    stored = json.loads((tmp_path / "out" / "verdicts.json").read_text())
    assert [one["target_shows"] for one in stored.values()] == [True, None]  # 48 rows do not prove that nothing shows
    assert [one["overstates"] for one in stored.values()] == [None, None]
    lines = out.splitlines()
    assert lines[0].startswith("map")
    assert "cannot tell" in lines[1]
    assert lines[1].split()[2] == "yes"
    assert "The labels show clearly" in out
    assert f"all figures: {tmp_path / 'out' / 'verdicts.txt'}" in out
    everything = (tmp_path / "out" / "verdicts.txt").read_text(encoding="utf-8")
    for one in stored.values():
        headlines = [stated for stated in one["statements"] if stated["level"] == "headline"]
        assert [stated["id"] for stated in headlines] == ["target_shows", "map_exaggerates", "target_needed"]
        for stated in one["statements"]:
            sentence = stated["words"].removeprefix("Cannot tell ")
            assert stated["id"] == "limit" or sentence in " ".join(everything.split())
            assert stated["level"] == "detail" or sentence in " ".join(out.split())
    assert b'id="prismap"' in (tmp_path / "out" / "map.html").read_bytes()
    code, _, err = run("judge", coordinates, *words, "-o", tmp_path / "out")
    assert code == 2
    assert "--force replaces it" in err


def test_the_options_that_notes_name_are_there(run, refused, coordinates, tmp_path):
    words = ("judge", coordinates, "--x", "umap_1", "--y", "umap_2", "--target", "species", "-o")
    code, _, err = run(*words, tmp_path / "out")
    assert code == 0, err
    assert "column 'key' names the rows: shown, not used (--id key names them by it, --use key uses it)" in err
    code, _, err = run(*words, tmp_path / "used", "--use", "key", "--show", "soil")
    assert code == 0, err
    assert "names the rows" not in err
    assert "soil" not in err.replace("--show soil", "")
    assert "no column 'zzz' for show" in refused(*words, tmp_path / "no", "--show", "zzz")


def test_clustered_targets_are_judged_for_it(run, coordinates, tmp_path):
    words = ("--x", "umap_1", "--y", "umap_2", "--target", "species", "--id", "key", "--clustered", "--json", "--quiet")
    code, out, _ = run("judge", coordinates, *words, "-o", tmp_path / "out")
    assert code == 0
    assert json.loads(out)["umap_1, umap_2"]["circular"]["where"] == "data"


def test_judge_refuses_what_it_cannot_read(refused, coordinates, tmp_path):
    out = ("--target", "species", "-o", tmp_path / "out")
    assert "no column 'umap_9' for --x or --y" in refused("judge", coordinates, "--x", "umap_9", "--y", "umap_2", *out)
    assert "--x names 2 columns and --y 1" in refused("judge", coordinates, "--x", "no_1,umap_1", "--y", "no_2", *out)
    assert "'soil' holds text" in refused("judge", coordinates, "--x", "soil", "--y", "no_2", *out)
    holes = write_flowers(tmp_path / "holes.csv", u=["", *["1.5"] * 89], v=[f"{j}" for j in range(90)])
    assert "'u' has no coordinate in 1 of 90 rows: leave" in refused("judge", holes, "--x", "u", "--y", "v", *out)
    point = write_flowers(tmp_path / "point.csv", u=["1"] * 90, v=["2"] * 90)
    assert "'u' and 'v' put all 90 rows in one place" in refused("judge", point, "--x", "u", "--y", "v", *out)
    word = write_flowers(tmp_path / "word.csv", u=["here", *["1.5"] * 89], v=[f"{j}" for j in range(90)])
    assert "'u' holds text, such as 'here'" in refused("judge", word, "--x", "u", "--y", "v", *out)


def test_judge_refuses_targets_by_the_name_of_their_column(refused, coordinates, tmp_path):
    words = ("--x", "umap_1", "--y", "umap_2", "-o", tmp_path / "out")
    one = write_flowers(tmp_path / "one.csv", kind=["a"] * 90, umap_1=[f"{j}" for j in range(90)], umap_2=["1"] * 90)
    err = refused("judge", one, *words, "--target", "kind")
    assert "the target 'kind' holds one class (a) only" in err
    assert "Use --target-kind none" in err
    assert "no column 'knd' for target; did you mean 'kind'" in refused("judge", one, *words, "--target", "knd")
    assert "--clustered is for classes" in refused("judge", coordinates, *words, "--clustered", "--id", "key")
    text = refused("judge", coordinates, *words, "--target", "species", "--target-kind", "real")
    assert "--target-kind real needs numbers in the target 'species'" in text
    assert "names 'umap_1', and so does --target" in refused("judge", coordinates, *words, "--target", "umap_1")


def test_judge_refuses_maps_without_coordinates_or_data(refused, coordinates, tmp_path):
    out = ("--target", "species", "-o", tmp_path / "out")
    assert "no coordinates are named: --x and --y" in refused("judge", coordinates, *out)
    assert "--x and --y both name 'no_1'" in refused("judge", coordinates, "--x", "no_1", "--y", "no_1", *out)
    bare = tmp_path / "bare.csv"
    bare.write_text("u,v,species\n" + "".join(f"{j},{j * j},{'ab'[j % 2]}\n" for j in range(20)))
    err = refused("judge", bare, "--x", "u", "--y", "v", *out)
    assert "no columns besides coordinates and labels" in err


def test_methods_are_compared(run, flowers, tmp_path, monkeypatch):
    import importlib.util

    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "umap" else there(name))
    words = ("--target", "species", "--id", "key", "--methods", "pca,umap,lda,pca")
    code, out, err = run("compare", flowers, *words, "-o", tmp_path / "out")
    assert code == 0, err
    assert "umap was left out, because its package is not installed: pip install 'prismap[umap]'" in err
    stored = json.loads((tmp_path / "out" / "verdicts.json").read_text())
    assert list(stored) == ["pca", "lda"]
    assert all(one["target_shows"] for one in stored.values())
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["pca", "lda"]
    assert (tmp_path / "out" / "map.png").stat().st_size > 5000


def test_methods_of_others_are_left_out_with_the_line_that_installs_them(refused, flowers, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    packages = {
        "supervised-umap": "'prismap[umap]'", "localmap": "pacmap", "trimap": "trimap", "phate": "phate",
        "rf-phate": "forestgeom phate", "cebra": "cebra", "infotsne": "torchdr", "negtsne": "contrastive-ne",
    }  # fmt: skip
    notes = []
    assert compare.installed((*packages, "pca"), SimpleNamespace(note=notes.append)) == ["pca"]
    assert notes == [
        f"{name} was left out, because its package is not installed: pip install {package}"
        for name, package in packages.items()
    ]
    words = ("--target", "species", "--methods", "pacmap,localmap,phate", "-o", tmp_path / "out")
    assert "none of these methods is installed: pip install pacmap, pip install phate." in refused(
        "compare", flowers, *words
    )


def test_methods_that_need_classes_are_left_out_without_them(run, flowers, tmp_path):
    words = ("compare", flowers, "--id", "key", "--budget", "quick", "--methods", "pca,lda,nca,pls,network", "--target")
    code, _, err = run(*words, "species", "-o", tmp_path / "classes")
    assert code == 0, err
    stored = json.loads((tmp_path / "classes" / "verdicts.json").read_text())
    assert list(stored) == ["pca", "lda", "nca", "pls", "network"]
    assert all(one["target_shows"] for one in stored.values())
    code, _, err = run(*words, "pl", "--target-kind", "real", "-o", tmp_path / "numbers")
    assert code == 0, err
    assert list(json.loads((tmp_path / "numbers" / "verdicts.json").read_text())) == ["pca"]
    for name in ("lda", "nca", "pls", "network"):
        assert f"{name} was left out: it needs classes as its target" in err


def test_a_package_that_fails_on_the_rows_is_left_out_and_our_own_errors_are_not_hidden(
    run, refused, flowers, tmp_path, monkeypatch
):
    def refuse(seed):
        raise IndexError("too many indices")

    monkeypatch.setitem(methods.METHODS, "phate", methods.Method(refuse, modules=("numpy",)))
    words = ("compare", flowers, "--target", "species", "--budget", "quick", "--methods")
    code, _, err = run(*words, "phate,pca", "-o", tmp_path / "out")
    assert code == 0, err
    assert "phate was left out, because it failed: IndexError: too many indices" in err
    assert list(json.loads((tmp_path / "out" / "verdicts.json").read_text())) == ["pca"]
    assert "no method is left to compare" in refused(*words, "phate", "-o", tmp_path / "none")
    monkeypatch.setitem(methods.METHODS, "pca", methods.Method(refuse))
    code, _, err = run(*words, "pca", "-o", tmp_path / "own")
    assert code != 0
    assert "IndexError" in err


def test_compare_refuses_unknown_and_missing_methods(refused, flowers, tmp_path, monkeypatch):
    out = ("--target", "species", "-o", tmp_path / "out")
    assert "--methods 'tsme' is not known; did you mean tsne?" in refused("compare", flowers, "--methods", "tsme", *out)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "none of these methods is installed: pip install" in refused("compare", flowers, "--methods", "umap", *out)


def test_judging_keeps_to_a_budget(run, refused, flowers, tmp_path):
    words = ("--target", "species", "--id", "key", "--methods", "pca,lda", "--budget", "quick", "--json", "--quiet")
    code, out, _ = run("compare", flowers, *words, "-o", tmp_path / "out")
    assert code == 0
    found = json.loads(out)
    assert {found[name]["budget"] for name in ("pca", "lda")} == {"quick"}
    assert {found[name]["looks"] for name in ("pca", "lda")} == {2}
    bad = ("--target", "species", "-o", tmp_path / "other", "--budget", "-3")
    assert "full, quick, a number of seconds above 0 or a time such as '5 min'" in refused("compare", flowers, *bad)


# --- the methods ------------------------------------------------------------------------------------------------------


def test_pacmap_does_not_warn_of_its_seed_and_warns_of_few_rows(monkeypatch, caplog):
    def model(random_state):
        logger = logging.getLogger("pacmap.pacmap")
        logger.warning("Warning: random state is set to %s.", random_state)
        logger.warning("Sample size is smaller than n_neighbors.")

    monkeypatch.setitem(sys.modules, "pacmap", SimpleNamespace(PaCMAP=model))
    methods.METHODS["pacmap"].make(0)
    assert [record.getMessage() for record in caplog.records] == ["Sample size is smaller than n_neighbors."]


def test_maps_have_two_columns_whatever_the_classes():
    """Discriminants are one fewer than classes: those of ten were once judged in nine dimensions, and drawn in two."""
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 10):
        y = np.arange(120) % n_classes
        X = rng.normal(size=(120, 12)) + 3 * rng.normal(size=(n_classes, 12))[y]
        for name in ("lda", "pls", "nca", "network"):
            model = methods.METHODS[name].make(0)
            assert np.asarray(model.fit_transform(X, y)).shape == (120, 2)
            assert model.transform(X[:5]).shape == (5, 2)


def test_own_readings_can_be_cloned_with_another_seed():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    one, same, other = (
        clone(methods.Network(1)),
        methods.Network(1),
        clone(methods.Network(1)).set_params(random_state=2),
    )
    first = one.fit_transform(X, y)
    assert np.array_equal(first, same.fit_transform(X, y))
    assert not np.array_equal(first, other.fit_transform(X, y))


def test_new_rows_lie_among_their_most_proximate_rows():
    Y = np.array([[0.0, 0.0], [1.0, 0.0], [0.4, 0.0], [90.0, 90.0]])
    proximities = np.array([[0.3, 0.3, 0.35, 0.05], [0.0, 0.0, 0.0, 1.0]])
    assert methods.nearby(proximities, Y).tolist() == [[0.4, 0.0], [90.0, 90.0]]
