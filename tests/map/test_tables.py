"""A map of a table reads tables as it read its own: in Python as on the command line, after loading as before."""

import numpy as np
import pytest
from experiments.tables_of_truth import leaking_pair, telling_gap
from sklearn.datasets import load_wine

from prismap import PrisMap
from prismap.cli.main import main
from prismap.exceptions import InputError, PrismapWarning
from prismap.map._columns import cluster_notes, column_notes, gaps_of, leaks_of, uneven_spreads
from prismap.map._tables import without_target
from prismap.relevance._columns import ExplainedCluster

pd = pytest.importorskip("pandas")
parquet = pytest.importorskip("pyarrow.parquet")
polars = pytest.importorskip("polars")

QUICK = {"method": "mds", "perplexity": 8, "random_state": 0}


def messy(n_rows=60, seed=0):
    """Every kind of column, with gaps in each that can have some."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n_rows) % 2
    frame = pd.DataFrame(
        {
            "key": np.arange(n_rows) + 10**17,
            "size": np.round(rng.normal(size=n_rows) + 2 * kind, 4),
            "count": pd.array(rng.integers(5, size=n_rows), dtype="Int64"),
            "flag": rng.random(n_rows) < 0.5,
            "maybe": pd.array(rng.random(n_rows) < 0.5, dtype="boolean"),
            "site": pd.Categorical(rng.choice(list("ABC"), n_rows)),
            "grade": pd.Categorical(rng.integers(1, 4, n_rows), ordered=True),
            "soil": rng.choice(["sand", "clay"], n_rows),
            "day": pd.date_range("2021-01-01", periods=n_rows, freq="D"),
            "remark": [f"remark {row} of many" for row in range(n_rows)],
            "species": np.array(["setosa", "virginica"])[kind],
        },
        index=[f"row {row}" for row in range(n_rows)],
    )
    frame.loc["row 3", ["size", "count", "maybe", "site", "soil", "day"]] = None
    return frame


FORMS = {
    "pandas": lambda frame: frame,
    "polars": polars.from_pandas,
    "pyarrow": lambda frame: __import__("pyarrow").Table.from_pandas(frame, preserve_index=False),
    "text": lambda frame: frame.assign(day=frame["day"].dt.strftime("%Y-%m-%d"), site=frame["site"].astype(object)),
}


@pytest.fixture(scope="module")
def made():
    return PrisMap.from_table(messy(), "species", id="key", impute="median", **QUICK)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same table as a file, mapped by the command line."""
    folder = tmp_path_factory.mktemp("table")
    messy().to_parquet(folder / "table.parquet", index=False)
    words = ["--target", "species", "--id", "key", "--impute", "median", "--method", "mds", "--perplexity", "8"]
    assert main(["map", str(folder / "table.parquet"), *words, "--quiet", "-o", str(folder / "out")]) == 0
    return folder


def test_from_table_is_what_the_command_line_makes(made, folder):
    of_file = parquet.read_table(folder / "out" / "map.parquet")
    assert np.array_equal(made.positions(), np.column_stack([of_file["x"], of_file["y"]]))
    assert PrisMap.load(folder / "out" / "model.prismap").encoding_ == made.encoding_


@pytest.mark.parametrize("form", FORMS)
def test_a_loaded_map_places_tables_as_apply_does(folder, form):
    new = messy(40, seed=1)
    new.to_parquet(folder / "new.parquet", index=False)
    out = folder / f"{form}.parquet"
    assert main(["apply", str(folder / "out"), str(folder / "new.parquet"), "--quiet", "-o", str(out)]) == 0
    applied = parquet.read_table(out)
    model = PrisMap.load(folder / "out" / "model.prismap")
    table = FORMS[form](new)
    Y, far = model.place(table)
    assert np.array_equal(Y, np.column_stack([applied["x"], applied["y"]]))
    assert np.array_equal(far, applied["far"].to_numpy())
    assert np.array_equal(model.transform(table), Y)
    assert np.array_equal(model.is_far(table), far)
    assert np.array_equal(model.distance_to_data(table) > model.map_.far_threshold, far)
    assert 0 <= model.drift(table).far_share <= 1


@pytest.mark.parametrize("form", ["pandas", "polars", "pyarrow"])
def test_every_form_of_a_table_makes_the_same_map(made, form):
    again = PrisMap.from_table(FORMS[form](messy()), "species", id="key", impute="median", **QUICK)
    assert np.array_equal(again.positions(), made.positions())
    assert again.classes_.tolist() == ["setosa", "virginica"]
    assert again.encoding_ == made.encoding_


def test_a_map_from_python_serves_the_command_line(made, folder):
    made.save(folder / "python.prismap")
    messy().to_csv(folder / "table.csv", index=False)
    out = folder / "from_python.parquet"
    assert main(["apply", str(folder / "python.prismap"), str(folder / "table.csv"), "--quiet", "-o", str(out)]) == 0
    applied = parquet.read_table(out)
    assert np.array_equal(made.positions(), np.column_stack([applied["x"], applied["y"]]))


def test_an_array_is_taken_as_encoded(made):
    assert np.array_equal(made.transform(made.encoding_.apply(messy()).X), made.transform(messy()))


def test_positions_come_back_with_the_names_of_the_rows(made):
    assert made.positions(as_frame=True).index.tolist() == [10**17 + row for row in range(60)]
    unnamed = PrisMap.from_table(messy(), "species", drop="key", impute="median", **QUICK)
    frame = unnamed.positions(as_frame=True)
    assert frame.index.equals(messy().index)
    assert frame.columns.tolist() == ["prismap0", "prismap1"]
    plain = messy()[["size", "count"]].astype(float).fillna(0.0)
    assert PrisMap(**QUICK).fit(plain).positions(as_frame=True).index.equals(plain.index)
    assert PrisMap(**QUICK).fit(plain.to_numpy()).positions(as_frame=True).index.tolist() == list(range(60))


def test_partial_refit_takes_tables_with_their_target(made, tmp_path):
    made.save(tmp_path / "map.prismap")
    model = PrisMap.load(tmp_path / "map.prismap")
    far = messy(20, seed=2).assign(size=50.0)
    model.partial_refit(far)
    assert len(model.added_rows_) > 0
    wanted = [model.classes_.tolist().index(name) for name in far["species"].iloc[model.added_rows_]]
    assert model.map_.target.values[60:].tolist() == wanted
    assert len(model.positions(as_frame=True)) == 60 + len(model.added_rows_)


def test_decisions_are_in_the_report(made):
    told = "\n".join(made.report().notes)
    for words in ("'day' holds dates", "'remark' holds 60 different texts", "site (3)", "use=['remark']"):
        assert words in told


def test_what_a_table_must_be_is_said(made):
    with pytest.raises(InputError, match="must be a data frame.*read_table"):
        PrisMap.from_table(np.zeros((5, 2)))
    with pytest.raises(InputError, match="no column 'specie' for target; did you mean 'species'"):
        PrisMap.from_table(messy(), "specie")
    with pytest.raises(InputError, match="'size' 1.*impute='median'"):
        PrisMap.from_table(messy(), "species", data="cosine")
    with pytest.raises(InputError, match="target_kind must be"):
        PrisMap.from_table(messy(), "species", impute="median", target_kind="classes")
    with pytest.raises(InputError, match="lacks 1 of the .* columns of the map: -'size'"):
        made.transform(messy().drop(columns="size"))
    with pytest.warns(PrismapWarning, match="column 'soil' has levels in 1 of the rows that the map has not seen"):
        made.transform(messy().assign(soil=["peat"] + ["sand"] * 59))
    with pytest.raises(InputError, match="from_table takes columns of features"):
        PrisMap.from_table(messy(), "species", impute="median", data="similarity")


def test_a_new_fit_forgets_the_table(made):
    model = PrisMap.from_table(messy(), "species", impute="median", **QUICK)
    model.fit(np.random.default_rng(0).normal(size=(30, 3)))
    assert model.encoding_ is None
    assert model.notes_ == ()


def test_unequal_scales_are_warned_of_and_reported():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(PrismapWarning, match=r"factor of 388: column 12 \(314\) rules .*StandardScaler\(\), PrisMap"):
        model = PrisMap(**QUICK).fit(X, y)
    assert any("factor of 388" in note for note in model.report().notes)
    frame = load_wine(as_frame=True).data
    assert "'proline'" in uneven_spreads(frame.to_numpy(), frame.columns)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    assert uneven_spreads(standard) is None


def test_scales_that_are_well_are_not_warned_of():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    assert uneven_spreads(X * [1, 2, 5, 7]) is None
    assert "factor of" in uneven_spreads(X * [1, 2, 5, 40])
    assert "factor of" in uneven_spreads(X * [0.01, 2, 5, 4])
    assert uneven_spreads(np.column_stack([X, rng.random(50) < 0.02])) is None  # yes / no has no unit
    pixels = rng.normal(size=(50, 30)) * np.r_[np.full(5, 0.01), np.ones(25)]
    assert uneven_spreads(pixels) is None  # some of many columns hardly vary
    assert "factor of" in uneven_spreads(pixels * np.r_[np.ones(29), 100])


def test_a_copy_of_the_target_and_clusters_are_in_the_report():
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=480)
    frame = pd.DataFrame({
        "a": rng.normal(size=480) + 3 * kind, "site": rng.choice(list("ABC"), 480),
        "state": np.array(["x", "y"])[kind], "state_code": kind * 7.0,
    })  # fmt: skip
    report = PrisMap.from_table(frame, "state", random_state=0).report(n_permutations=1)
    leak = report.statements[0]  # it is read first
    assert (leak.id, leak.level, leak.about) == ("leaking_column", "warning", ("state_code",))
    assert leak.words.startswith("Column 'state_code' alone gives 0.0 % error: is it a copy")
    assert str(report).count("is it a copy") == report.details.count("is it a copy") == 1
    report = PrisMap.from_table(frame, "state", drop="state_code", random_state=0).report(n_permutations=1)
    assert report.statement("leaking_column") is None
    clusters = [one.words for one in report.statements if one.id == "cluster_columns"]
    assert clusters
    assert all("'site'" in words and "nothing about the target" in words for words in clusters)


def test_of_many_columns_a_copy_and_the_makers_of_clusters_are_found():
    rng = np.random.default_rng(0)
    kind, site = rng.integers(2, size=450), rng.integers(3, size=450)
    X = np.column_stack([rng.normal(size=(450, 230)), 40.0 * site, 7.0 * kind])
    names = [f"gene {j}" for j in range(230)] + ["site", "copy"]
    with pytest.warns(PrismapWarning, match="differ in spread"):
        made = PrisMap(supervision=0.8, random_state=0).fit(pd.DataFrame(X, columns=names), np.array(["x", "y"])[kind])
    notes = column_notes(made.map_)
    assert [leak.names for leak in leaks_of(made.map_)] == [("copy",)]
    clusters = [note for note in notes if "cluster" in note]
    assert clusters
    assert all("'site' alone says nothing about the target" in note for note in clusters)
    assert not [note for note in notes if "gene" in note]


def test_gaps_that_tell_the_class_are_called_gaps():
    X, y, truth = telling_gap()
    with pytest.warns(PrismapWarning, match="are missing"):
        made = PrisMap(random_state=0).fit(pd.DataFrame(X), y).map_
    [leak] = leaks_of(made)
    assert (leak.names, leak.kind) == ((truth["gaps tell"],), "gaps")
    assert str(leak).startswith("'x3' is missing in 90% of the rows of sick and in 0% of the others: the gaps of 'x3'")
    assert not [note for note in column_notes(made) if "follows 'x3'" in note]
    cluster = ExplainedCluster(np.flatnonzero(np.isnan(X["x3"])), {"x3": 0.9, "x0": 0.6}, 0.4)
    [note] = cluster_notes([cluster], made.target, {"x3": True, "x0": None}, gaps_of(made))
    assert "(100 % sick) of the rows follows the gaps of 'x3', 'x0'; of these 'x3' tells about the target." in note


def test_pairs_that_give_the_target_away_are_warnings():
    X, y, truth = leaking_pair()
    report = PrisMap(random_state=0).fit(pd.DataFrame(X), y).report(budget="quick")
    leak = report.statements[0]
    assert (leak.id, leak.level, leak.about) == ("leaking_pair", "warning", truth["leak"])
    assert "neither does alone" in leak.words


def test_numbers_that_were_declared_a_category_are_levels(tmp_path):
    """A category of numbers has no order unless it is declared with one; files read by its map follow."""
    rng = np.random.default_rng(0)
    site, stars = rng.choice([3, 17, 40], 60), rng.integers(1, 6, size=60)
    frame = pd.DataFrame({
        "a": rng.normal(size=60), "site": pd.Categorical(site), "grade": pd.Categorical(stars, ordered=True),
        "batch": pd.Categorical(np.where(site > 3, 0.5, 1.5)), "kind": pd.Categorical(site % 2),
    })  # fmt: skip
    made = PrisMap.from_table(frame, "kind", perplexity=8, random_state=0)
    assert made.encoding_.feature_names == ["a", "site=17", "site=3", "site=40", "grade", "batch=0.5", "batch=1.5"]
    assert made.target_ == "class"
    wanted = made.transform(frame)
    frame.to_csv(tmp_path / "new.csv", index=False)
    assert np.array_equal(made.transform(pd.read_csv(tmp_path / "new.csv", converters={"a": float})), wanted)
    assert np.array_equal(made.transform(FORMS["pyarrow"](frame)), wanted)
    arrow = PrisMap.from_table(FORMS["pyarrow"](frame), "kind", perplexity=8, random_state=0)
    assert arrow.encoding_ == made.encoding_
    # a map of plain numbers takes them as numbers
    numbers = PrisMap.from_table(frame.astype({"site": int}), "kind", use="site", perplexity=8, random_state=0)
    assert np.array_equal(numbers.transform(frame), numbers.transform(frame.astype({"site": int})))


def test_rows_without_a_target_are_counted_in_plain_words():
    assert without_target(1) == "1 row has no target; it is placed without one"
    assert without_target(4) == "4 rows have no target; they are placed without one"


def test_two_columns_that_make_up_a_number_are_a_leak():
    X, y, truth = leaking_pair(numbers=True)
    made = PrisMap.from_table(pd.DataFrame({**X, "gain": y}), "gain", random_state=0)
    [leak] = leaks_of(made.map_)
    assert (leak.names, leak.kind) == (truth["leak"], "pair")
