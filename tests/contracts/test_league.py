"""The league: its samples, its figures against slow versions, and methods that fail or place nothing."""

import json

import numpy as np
import pytest
from experiments import (
    league,
    league_figures,
    league_measuring,
    league_methods,
    league_pairs,
    league_quoted,
    league_sets,
    league_tables,
    league_text,
    ledger,
)
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.datasets import load_iris
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from prismap.cli import methods


@pytest.fixture
def case():
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.eye(3)[np.arange(150) % 3]])  # a category in three columns
    order = np.random.default_rng(0).permutation(150)
    blocks = [np.array([0]), np.array([1]), np.array([2]), np.array([3]), np.array([4, 5, 6])]
    return league_sets.cut(X, y, order[:100], order[100:], blocks)


@pytest.mark.parametrize("share", [0.3, 0.05, 1.0])
def test_samples_have_the_same_share_of_each_class(share):
    y = np.repeat([0, 1, 2, 3], [200, 90, 7, 1])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        mask = league_sets.spread_sample(rng, share, y[order])
        assert abs(mask.sum() - share * len(y)) <= 1
        taken = np.bincount(y[order][mask], minlength=4)
        assert (np.abs(taken - share * np.bincount(y)) <= 1).all()


def test_no_unit_is_on_both_sides():
    of_rows, of_units = league_sets.unit_cases("coins of 40 patients x 15", None, 0)
    assert set(of_rows.units) & set(of_rows.new_units)
    assert not set(of_units.units) & set(of_units.new_units)
    assert len(of_units.new) == 0.3 * 600


def test_permuting_a_feature_costs_what_a_slow_version_says(case):
    rng = np.random.default_rng(4)
    Y = case.X[:, :2] + 0.01 * rng.normal(size=(len(case.X), 2))
    fast = league_figures.importances(case.X, Y, case.y, case.blocks)
    scaled = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    classes = KNeighborsClassifier(10).fit(case.X, case.y)
    places = KNeighborsRegressor(10).fit(case.X, scaled)

    def scores(X):
        return np.array([classes.score(X, case.y), r2_score(scaled, places.predict(X))])

    rng = np.random.default_rng(4)
    for turn in range(league_figures.N_PERMUTED):
        for place, block in enumerate(case.blocks):
            X = case.X.copy()
            X[:, block] = rng.permutation(X[:, block])
            # Rows of iris that are equally far from one are taken in another order.
            np.testing.assert_allclose(fast[:, turn, place], scores(case.X) - scores(X), atol=0.03)


def test_structure_is_kept_by_the_features_that_matter_and_not_by_others(case):
    matters, noise = league_figures.structure(case, case.X[:, 2:4]), league_figures.structure(case, case.X[:, 4:6])
    assert matters["local"] > 0.5 > noise["local"]
    assert matters["global"] > 0.5 > noise["global"]
    rows = np.random.default_rng(3).permutation(100)
    X, Y = case.X[rows], case.X[rows, 2:4]
    follows = [spearmanr(pdist(X[:, block]), pdist(Y)).statistic for block in case.blocks]
    mattering, _ = league_figures.importances(X, Y, case.y[rows], case.blocks)
    assert np.isclose(matters["global"], np.mean([spearmanr(turn, follows).statistic for turn in mattering]))


def test_new_rows_are_judged_by_fitted_ones_and_seen_rows_by_the_others(case):
    """Cells of one class each: all rows are told right, and a single row of another class is told wrong."""
    Y = 10 * np.eye(3)[case.y] + np.random.default_rng(0).normal(size=(100, 3))
    Z = 10 * np.eye(3)[case.y_new]
    y = case.y.copy()
    y[0] = (y[0] + 1) % 3
    assert league_figures.right(Y, y, 10).sum() == 99
    hits = league_figures.right(Y, y, 10, Z, case.y_new)
    assert hits.all()
    hits[:20] = 0
    guesses = np.where(hits > 0, case.y_new, (case.y_new + 1) % 3)
    assert np.isclose(
        league_figures.balanced(hits, case.y_new), 100 * (1 - balanced_accuracy_score(case.y_new, guesses))
    )


def test_a_map_that_repeats_its_labels_invents_all_of_them(case):
    y = league_figures.permuted(case.y)
    row = league_figures.figures(case, {"Y": case.X}, {"Y": np.eye(3)[y]})
    assert np.isclose(row["invented"], 100 - league_figures.chance(case.y, 10))
    assert 60 < row["invented"] < 75
    assert "new, 10" not in row


def test_a_method_that_fails_says_why():
    def refuse(job):
        raise ValueError("too few rows")

    job = league_methods.Job(np.zeros((4, 2)), np.array([0, 1, 0, 1]), np.zeros((1, 2)))
    assert league_methods.attempt(league_methods.Method(refuse), job) == {"failed": "ValueError: too few rows"}
    nowhere = league_methods.Method(lambda job: (np.full((4, 2), np.nan), None))
    assert "not finite" in league_methods.attempt(nowhere, job)["failed"]
    unplaced = league_methods.attempt(league_methods.Method(lambda job: (job.X, refuse)), job)
    assert unplaced["Y"].shape == (4, 2)
    assert unplaced["failed"] == "placing new rows: ValueError: too few rows"


def test_every_method_of_compare_is_in_the_league_and_those_of_others_go_to_the_peers():
    theirs = {name for name, how in methods.METHODS.items() if how.modules}
    in_league = [how for how in league_methods.METHODS.values() if how.peers]
    assert len(in_league) == len(theirs)
    ours = {"no map", "prismap, max", "prismap, as published", league_methods.UNITS_TOLD}
    assert len(league_methods.METHODS) == len(methods.METHODS) + len(ours)


def test_a_quick_run_needs_neither_data_nor_peers(tmp_path):
    options = ledger.Options(quick=True, out=tmp_path)
    for part in ("LDA, our sets", "UMAP, our sets", "LDA, judged"):
        ledger.do_part(league, part, options)
    ledger.write_page(league, tmp_path)
    kept = json.loads(ledger.rows_path(league, "LDA, our sets", tmp_path).read_text(encoding="utf-8"))["rows"]
    assert [row["set"] for row in kept] == list(league_sets.QUICK)
    for row in kept:
        assert {"seen, 10", "new, 10", "balanced", "invented", "R_NX", "local", "seconds", "MB"} <= set(row)
        assert row["new, 10"] > 85
    page = (tmp_path / "league.md").read_text(encoding="utf-8")
    assert "| LDA | yes | own |" in page
    assert "Not measured for want of time: " in page
    judged = json.loads(ledger.rows_path(league, "LDA, judged", tmp_path).read_text(encoding="utf-8"))["rows"]
    for row in judged:
        assert row["shows"] == "yes"
        assert row["permuted: shows"] != "yes"
        assert abs(row["stated"] - row["true"]) < 15
        assert row["permuted: true"] > 40


def test_coins_of_patients_are_known_for_their_other_rows_only(monkeypatch):
    def here(name, jobs, options):
        return [league_methods.attempt(league_methods.METHODS[name], job) for job in jobs]

    monkeypatch.setattr(league_measuring, "maps_of", here)
    (row,) = league_measuring.rows_of_units("no map", ledger.Options(quick=True))
    assert row["seen"] > 90
    assert row["new rows"] > 90
    assert abs(row["new units"] - row["largest class"]) < 3 * row["error, by units"]


def test_methods_that_place_nothing_stand_last_and_say_so():
    seen = {"set": "iris", "rows": 80, "held out": 70, "splits": 3, "seen, 10": 99.0, "seconds": "0.10", "MB": 100.0}
    rows = {"TriMap": seen, "PCA": seen | {"new, 10": 60.0}, "LDA": seen | {"new, 10": 70.0}}
    lines = league_tables.league_of(
        "league", {league_pairs.part_name(name, "league"): [row] for name, row in rows.items()}
    )
    assert [line["method"] for line in lines] == ["LDA", "PCA", "TriMap"]
    (*_, last) = league_tables.written(lines, league_tables.NEW_ROWS)
    assert last["accuracy, %"] == "has none"
    assert last["splits"] == 3


# --- differences and their errors -------------------------------------------------------------------------------------


def row_of(one, *told):
    """A row of a set with what its new rows were told in each split."""
    share = 100 * float(np.mean([league_figures.chances(text).mean() for text in told]))
    row = {"set": one, "rows": 9, "held out": len(told[0]), "splits": len(told), "new, 10": share, "told": list(told)}
    return row | {"seconds": "0.10", "MB": 100.0}


def test_what_rows_were_told_is_kept_to_a_digit():
    hits = np.array([0, 1, 0.5, 1 / 3, 1])
    assert np.abs(league_figures.chances(league_figures.tenths(hits)) - hits).max() <= 1 / 18 + 1e-9


def test_differences_are_paired_and_several_splits_are_worth_less_than_new_rows():
    rng = np.random.default_rng(0)
    a, b = (rng.integers(2, size=200) for _ in range(2))
    one, other = (row_of("x", league_figures.tenths(hits)) for hits in (a, b))
    points, error = league_pairs.gap(one, other)
    assert np.isclose(points, 100 * (a - b).mean())
    assert np.isclose(error, 100 * (a - b).std(ddof=1) / np.sqrt(200))
    assert league_pairs.gap(one, one) == (0, 0)
    unplaced = row_of("x", *3 * one["told"])
    assert league_pairs.gaps({"prismap": {"x": one}, "LDA": {"x": unplaced}}, "LDA") == {}
    twice = [row_of("x", *2 * row["told"]) for row in (one, other)]
    assert np.isclose(league_pairs.gap(*twice)[0], points)
    assert np.isclose(league_pairs.gap(*twice)[1], error * np.sqrt(0.75))


def test_ahead_and_behind_need_more_than_the_errors():
    ours = {"a": "9" * 50 + "0" * 50, "b": "9" * 100, "c": "90" * 50, "d": "9" * 50 + "0" * 50}
    theirs = {"a": "9" * 100, "b": "9" * 99 + "0", "c": "90" * 50, "d": "0" * 25 + "9" * 51 + "0" * 24}
    rows = {
        league_pairs.part_name(name, "league"): [row_of(one, text) for one, text in told.items()]
        for name, told in (("prismap", ours), ("LDA", theirs))
    }
    (line,) = league_tables.ahead("league", rows)
    assert league_pairs.listed(["a, b", "c"]) == "a, b; c"
    assert league_quoted.signed(-0.02, 0.5) == "+0.0 +- 0.5"
    assert line == {
        "method": "LDA", "sets": 4, "ahead by one error": 1, "behind by one error": 0, "ahead by two errors": 1,
        "behind by two errors": 0, "ahead by one error on": "a",
    }  # fmt: skip


def test_the_better_model_is_that_of_each_set():
    rows = {league_pairs.part_name("prismap", "league"): [row_of("a", "9900"), row_of("b", "9990")]}
    forest, machine = league_pairs.MODELS
    rows[league_pairs.part_name("models", "league")] = [
        {"model": model, **row_of(one, told)}
        for model, one, told in ((forest, "a", "9990"), (forest, "b", "0000"), (machine, "a", "0000"),
                                 (machine, "b", "9999"))
    ]  # fmt: skip
    assert {one: points for one, (points, _) in league_pairs.ceiling("league", rows).items()} == {"a": 25, "b": 25}


def test_sets_are_listed_with_models_by_maps_with_labels_and_by_maps_without():
    rows = {
        league_pairs.part_name(name, "league"): [row_of("a", "9900")] for name in ("no map", "prismap", "NCA", "PCA")
    }
    models, aware, without = league_tables.by_set("league", rows).values()
    assert models == [
        {
            "set": "a",
            "rows": 9,
            "new": 4,
            "splits": 1,
            "no map": 50,
            "prismap": 50,
            "better model to prismap": "",
            "+-": "",
        }
    ]
    assert aware == [{"set": "a", "NCA": 50}]
    assert without == [{"set": "a", "PCA": 50}]


# --- the text and README ----------------------------------------------------------------------------------------------


def test_the_text_takes_its_figures_from_the_rows():
    rows = {league_pairs.part_name("prismap", "league"): [row_of("a", "9900"), row_of("b", "9999")]}
    text = league_text.NEW_ROWS.format(of=league_quoted.figures_of_text(rows))
    assert "predicts the class of 75.0 % of the new rows**, in the mean over 2 tables" in " ".join(text.split())
    assert "{" not in text


def test_the_page_says_where_own_rows_are_the_better_witness():
    rows = {
        league_pairs.part_name(name, "judged"): [
            {"set": "a", "rows": 100, "shown": shown, "true": 20.0, "stated": 15.0, "permuted: shown": shown,
             "permuted: true": 50.0, "permuted: shows": "no", "permuted: exaggerates": answer}
        ] for name, shown, answer in (("PCA", 19.0, "no"), ("supervised UMAP", 1.0, "yes"), ("NCA", 10.0, "no"))
    }  # fmt: skip
    of = league_quoted.figures_of_text(rows)
    assert (of["flatterer"], of["shown_closer"]) == ("supervised UMAP", "PCA")
    assert (of["n_permuted"], of["false_shows"], of["n_flattering"], of["warned"]) == ("3", "0", "3", "1")
    assert of["shown_off"] == "10.0"


def test_the_end_of_the_page_has_the_commit_of_each_part():
    kept = {league_pairs.part_name("PCA", "units"): {"commit": "abc", "seconds": 3}}
    *_, table = league.page_end(kept)
    assert "| PCA |  | abc, 3 s |  |  |" in table.splitlines()


def test_readme_has_the_figures_of_the_league():
    readme = (ledger.RESULTS.parents[1] / "README.md").read_text(encoding="utf-8")
    readme = " ".join(readme.split())
    of = {line["method"]: line for line in league_tables.league_of("league", league.rows_in(ledger.RESULTS))}
    new = {name: f"{line['new, 10']:.1f} %" for name, line in of.items() if line["new, 10"] is not None}
    for words in (
        f"predicts {new['prismap']} of the held-out samples",
        f"in our own reading, reaches {new['RF-t-SNE (own reading)']}, RF-PHATE {new['RF-PHATE']}",
        f"UMAP with labels {new['supervised UMAP']}",
        f"t-SNE {new['t-SNE']}", f"a random forest reaches {new['forest, all features']}",
        f"a support vector machine {new['SVM, all features']}",
        f"by {of['supervised UMAP']['invented']:.1f} points with supervised UMAP",
        f"by {of['RF-PHATE']['invented']:.1f} with RF-PHATE", f"with prismap ({of['prismap']['invented']:.1f})",
    ):  # fmt: skip
        assert words in readme, words
    others = {
        name: own for name, own in new.items() if not name.startswith("prismap") and name not in league_pairs.MODELS
    }
    assert max(others, key=lambda name: of[name]["new, 10"]) == "RF-t-SNE (own reading)", "README names the closest"
