"""`prismap map` with more than one --target, and with ordered classes; `prismap apply` of such a map."""

import csv
import json

import numpy as np
import pytest

from prismap import PrisMap


@pytest.fixture
def songs(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 3)).round(4)
    with open(tmp_path / "songs.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "genre", "stars"])
        for a, b, c in X.tolist():
            writer.writerow([a, b, c, "rock" if a > 0 else "pop", int(np.digitize(b, [-0.6, 0.6])) + 1])
    return tmp_path / "songs.csv"


def test_two_targets_are_mapped_judged_and_applied(run, songs, tmp_path):
    words = ["--method", "mds", "--perplexity", 10, "--supervision", 0.8, "--budget", "quick"]
    targets = ["--target", "genre", "--target", "stars", "--target-kind", "class,ordered"]
    code, out, err = run("map", songs, *targets, *words, "-o", tmp_path / "out")
    assert code == 0, err
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["target"] == "several"
    assert set(report["target_weights"]) == {"genre", "stars"}
    assert "mean class steps of stars" in [score["name"] for score in report["scores"]]
    assert report["scores"][0]["name"] == "mean error over chance of 2 targets"
    assert "The targets show" in out
    model = PrisMap.load(tmp_path / "out" / "model.prismap")
    assert (model.target_, model.target_names_) == (("class", "ordered"), ("genre", "stars"))
    assert model.encoding_.names == ["a", "b", "c"]
    code, _, err = run("apply", tmp_path / "out", songs, "-o", tmp_path / "placed.csv")
    assert code == 0, err
    with open(tmp_path / "placed.csv", newline="") as file:
        placed = list(csv.DictReader(file))
    assert placed[0]["target"] in ("rock", "pop")
    assert placed[0]["target_stars"] in ("1", "2", "3")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "genre", "--target", "genre"], "a target is named twice: 'genre', 'genre'"),
        (["--target", "genre", "--target", "star"], "there is no column 'star' for target; did you mean 'stars'?"),
        (["--target", "genre", "--target-kind", "ordered"], "text has no order"),
        (
            ["--target", "genre", "--target-kind", "words"],
            "'words' is not known; there are auto, class, ordered, real and none",
        ),
        (["--target", "genre", "--target", "stars", "--target-kind", "class,real,real"], "names 3 kinds, and y has 2"),
    ],
)
def test_bad_targets_are_refused_in_a_line(run, songs, tmp_path, words, message):
    code, _, err = run("map", songs, *words, "-o", tmp_path / "out")
    assert code == 2
    assert message in err
    assert not (tmp_path / "out").exists()
