"""The encoding kept with a map: learnt once, the same on every later file or batch."""

import datetime as dt
import json

import numpy as np
import pytest

from prismap.exceptions import FileFormatError, InputError
from prismap.tables import (
    Roles,
    Table,
    TableEncoding,
    TextColumn,
    learn_encoding,
    read_table,
    table_from_arrow,
    table_from_frame,
)
from prismap.tables._column import text_column

pa = pytest.importorskip("pyarrow")


def table_of(n_rows=None, target=None, **columns):
    made = {
        name: text_column(values) if any(isinstance(value, str) for value in values) else np.array(values, dtype=float)
        for name, values in columns.items()
    }
    return Table(made, n_rows or len(next(iter(columns.values()))), target)


NAN = float("nan")
ROWS = table_of(width=[1, 2, 3, 6], colour=["red", "blue", "red", "red"], height=[10, 10, 20, 20])


def test_columns_keep_their_order_and_text_becomes_levels():
    encoding, notes = learn_encoding(ROWS, standardize=False)
    assert encoding.feature_names == ["width", "colour=blue", "colour=red", "height"]
    np.testing.assert_array_equal(encoding.apply(ROWS).X, [[1, 0, 1, 10], [2, 1, 0, 10], [3, 0, 1, 20], [6, 0, 1, 20]])
    assert any("one feature per level: colour (2)" in note for note in notes)
    assert any("used as they are" in note for note in notes)


def test_every_column_has_variance_one_and_text_counts_as_one_column():
    encoding, notes = learn_encoding(ROWS)
    X = encoding.apply(ROWS).X
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-15)
    variance = X.var(axis=0)
    np.testing.assert_allclose([variance[0], variance[1] + variance[2], variance[3]], 1)
    raw = learn_encoding(ROWS, standardize=False)[0].apply(ROWS).X
    np.testing.assert_allclose(X[:, 1:3] * np.sqrt(2 * 0.75 * 0.25) + [0.25, 0.75], raw[:, 1:3])
    assert any("standardised" in note for note in notes)


def test_a_table_without_rows_is_refused():
    with pytest.raises(InputError, match="the table has no rows"):
        learn_encoding(table_of(a=[], n_rows=0))


def test_large_and_small_numbers_are_standardised():
    rows = table_of(large=[1e300, -1e300, 1e300, -1e300], small=[1e-300, 0, 0, 1e-300])
    X = learn_encoding(rows)[0].apply(rows).X
    np.testing.assert_allclose(np.abs(X), 1)


@pytest.mark.parametrize("impute", [None, "median"])
def test_constant_columns_are_kept_and_said_and_empty_ones_left_out(impute):
    rows = table_of(one=[0.1, 0.1, 0.1], empty=[NAN] * 3, word=["a", "a", "a"], silent=[None] * 3, free=[1, 2, 3])
    encoding, notes = learn_encoding(rows, impute=impute)
    assert encoding.names == ["one", "word", "free"]
    X = encoding.apply(rows).X
    np.testing.assert_allclose(X[:, :2], 0, atol=1e-15)
    assert any("'one', 'word'" in note and "kept" in note for note in notes)
    assert "columns without any value were left out: 'empty', 'silent'" in notes
    assert learn_encoding(rows, impute="median", roles=Roles(use=("empty",)))[0].names[1] == "empty"


def test_integer_and_boolean_columns_need_no_floats():
    rows = Table({"a": np.uint8([0, 255]), "b": np.array([True, False])}, 2)
    encoding, _ = learn_encoding(rows)
    np.testing.assert_allclose(encoding.apply(rows).X, [[-1, 1], [1, -1]])


# Missing values


def test_missing_values_are_refused_with_counts_and_the_way_out():
    rows = table_of(a=[1, NAN, NAN], b=["x", None, "x"], c=[np.inf, 1, 2], d=[1, 2, 3])
    with pytest.raises(InputError, match=r"in 3 columns, of 3 rows: 'a' 2, 'b' 1, 'c' 1. .*impute='median'"):
        learn_encoding(rows)


def test_median_and_most_frequent_level_fill_missing_values():
    rows = table_of(a=[1, NAN, 3, 100, np.inf], b=["x", None, "y", "y", "x"])
    encoding, notes = learn_encoding(rows, impute="median", standardize=False)
    encoded = encoding.apply(rows)
    np.testing.assert_array_equal(encoded.X[:, 0], [1, 3, 3, 100, 3])
    np.testing.assert_array_equal(encoded.X[1], [3, 1, 0])
    assert encoded.filled == {"a": 2, "b": 1}
    assert any("filled with the median" in note and "'a' 2, 'b' 1" in note for note in notes)
    later = encoding.apply(table_of(a=[NAN, NAN, 5], b=[None, "y", "x"]))
    np.testing.assert_array_equal(later.X, [[3, 1, 0], [3, 0, 1], [5, 1, 0]])


def test_a_later_file_with_missing_values_is_refused_without_imputation():
    encoding, _ = learn_encoding(ROWS)
    with pytest.raises(InputError, match=r"of 1 rows: 'width' 1"):
        encoding.apply(table_of(width=[NAN], colour=["red"], height=[1]))
    with pytest.raises(InputError, match="'colour' 1"):
        encoding.apply(table_of(width=[1, 2], colour=[None, "red"], height=[1, 2]))


def test_imputation_knows_one_way_only():
    with pytest.raises(InputError, match="impute must be None or 'median'; got 'mean'"):
        learn_encoding(ROWS, impute="mean")


# Text


def test_text_with_many_values_is_shown_and_not_used():
    rows = table_of(
        name=[f"Mr {row}" for row in range(80)], width=range(80), prose=["word " * (row + 9) for row in range(80)]
    )
    encoding, notes = learn_encoding(rows)
    assert encoding.feature_names == ["width"]
    assert "column 'name' holds 80 different texts such as 'Mr 0': shown, not used (use=['name'] takes" in notes[0]
    assert "such as 'word word word word word word word word ...'" in notes[1]
    used, _ = learn_encoding(rows, roles=Roles(use=("name",)))
    assert len(used.feature_names) == 81
    with pytest.raises(InputError, match="no column is left to make a map of: column 'name' holds 4 different texts"):
        learn_encoding(table_of(name=["a", "b", "c", "d"]))


def test_columns_of_numbers_with_words_among_them_are_refused_with_the_words():
    rows = table_of(age=[*map(str, range(-10, 68)), "unknown", "old"], width=range(80))
    with pytest.raises(
        InputError, match="Some columns hold numbers with words .*'age' but for 'old', 'unknown'.*show=\\['age'\\]"
    ):
        learn_encoding(rows)
    assert learn_encoding(rows, roles=Roles(show=("age",)))[0].feature_names == ["width"]


def test_unknown_levels_become_zeros_and_are_counted():
    encoding, _ = learn_encoding(ROWS, standardize=False)
    encoded = encoding.apply(table_of(width=[1, 2], colour=["pink", "blue"], height=[3, 4]))
    np.testing.assert_array_equal(encoded.X, [[1, 0, 0, 3], [2, 1, 0, 4]])
    assert encoded.unknown == {"colour": 1}


def test_numbers_in_a_text_column_are_its_levels():
    rows = table_of(code=["1", "2", "x", "1", "1", "2"], k=range(6))
    encoding, notes = learn_encoding(rows, standardize=False)
    assert any("'code' was taken as text because of 'x' among its numbers" in note for note in notes)
    later = Table({"code": np.array([2.0, 1.0, 7.5]), "k": np.zeros(3)}, 3)
    encoded = encoding.apply(later)
    np.testing.assert_array_equal(encoded.X[:, :3], [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert encoded.unknown == {"code": 1}


def test_text_in_a_column_of_numbers_is_refused():
    encoding, _ = learn_encoding(ROWS)
    with pytest.raises(InputError, match="'width' held numbers .* holds text now, such as 'tall'"):
        encoding.apply(table_of(width=["tall"], colour=["red"], height=[1]))


# Columns of later files


def test_columns_are_found_by_name_and_others_ignored():
    encoding, _ = learn_encoding(ROWS)
    shuffled = Table({name: ROWS.columns[name] for name in ("height", "colour", "width")} | {"z": np.zeros(4)}, 4)
    np.testing.assert_array_equal(encoding.apply(shuffled).X, encoding.apply(ROWS).X)


def test_missing_columns_are_refused_with_a_diff():
    encoding, _ = learn_encoding(ROWS)
    with pytest.raises(
        InputError, match=r"lacks 2 of the 3 columns of the map: -'colour' \(\+'color'\?\), -'height'"
    ) as e:
        encoding.apply(table_of(width=[1], color=["red"], depth=[1]))
    assert "does not know: 'color', 'depth'" in str(e.value)


def test_row_numbers_without_a_name_are_left_out():
    rows = table_of(unnamed_1=[0, 1, 2], __index_level_0__=[1, 2, 3], unnamed_4=[5, 1, 2])
    encoding, notes = learn_encoding(rows)
    assert encoding.feature_names == ["unnamed_4"]
    assert sum("numbers the rows" in note for note in notes) == 2
    with pytest.raises(InputError, match="no column is left"):
        learn_encoding(table_of(unnamed_1=[0, 1, 2]))


def test_columns_that_name_the_rows_are_no_features():
    rows = table_of(
        customer_id=[17, 3, 5], humid=[1, 2, 3], id=[1, 1, 2], customerID=[4, 5, 6], grid=[1, 2, 3],
        Key=["a", "b", "c"], value_id=[0.5, 1.5, 2.5],
    )  # fmt: skip
    assert learn_encoding(table_of(key=[1e18, 1e18, 2e18], k=[1, 2, 3]))[0].names == ["k"]
    encoding, notes = learn_encoding(rows)
    assert encoding.names == ["humid", "id", "grid", "value_id"]
    assert any("'customer_id' names the rows: shown, not used (id='customer_id' names" in note for note in notes)
    assert learn_encoding(rows, roles=Roles(use=("customer_id",)))[0].names[0] == "customer_id"


# Dates


@pytest.mark.parametrize(
    "dates",
    [
        ["2020-01-01", "2020-01-02", "2021-01-01"],
        ["2020-01-01 00:00:00", "2020-01-02T00:00", "2021-01-01T01:00+01:00"],
        ["01.01.2020", "2.1.2020", "01.01.2021"],
        ["1/1/2020", "1/2/2020", "01/01/2021", "12/31/2020"],
        ["1/1/2020", "2/1/2020", "01/01/2021", "31/12/2020"],
    ],
)
def test_dates_become_days(dates):
    rows = table_of(day=dates, k=range(len(dates)))
    encoding, notes = learn_encoding(rows, standardize=False)
    assert encoding.apply(rows).X[:3, 0].tolist() == [18262, 18263, 18628]
    assert "column 'day' holds dates: used as days since 1970 (show=['day'] keeps it out of the map)" in notes
    again = TableEncoding.from_dict(json.loads(json.dumps(encoding.to_dict())))
    assert again == encoding
    assert "day" in again.roles.text
    np.testing.assert_array_equal(again.apply(rows).X, encoding.apply(rows).X)
    with pytest.raises(InputError, match="'day' held dates such as .*; 'soon' is none"):
        encoding.apply(table_of(day=[dates[0], "soon"], k=[1, 2]))
    assert learn_encoding(rows, roles=Roles(show=("day",)))[0].names == ["k"]


def test_missing_dates_are_filled_and_unclear_ones_are_no_dates():
    rows = table_of(day=["2020-01-01", None, "2020-01-03"], k=range(3))
    encoding, _ = learn_encoding(rows, impute="median", standardize=False)
    assert encoding.apply(rows).X[:, 0].tolist() == [18262, 18263, 18264]
    unclear = table_of(day=["1/2/2020", "3/4/2020", "1/2/2020", "3/4/2020"], k=range(4))
    assert learn_encoding(unclear)[0].feature_names == ["day=1/2/2020", "day=3/4/2020", "k"]


@pytest.mark.parametrize(
    ("levels", "numbers"),
    [
        (["€1,234.50", "€7", "-€0.5"], [1234.5, 7, -0.5]),
        (["1.234,50 €", "950 €", "(3 €)"], [1234.5, 950, -3]),
        (["$1,234", "$12", "$ 7"], [1234, 12, 7]),
        (["€ 1.234", "€ 950", "€ 12.500"], [1234, 950, 12500]),
        (["(300)", "5", "7.5"], [-300, 5, 7.5]),
        (["13%", "7 %", "\u22120.5%"], [13, 7, -0.5]),
        (["1.234%", "12.345%", "3.000%"], [1.234, 12.345, 3]),
        (["1,234,567", "12", "7,000"], [1234567, 12, 7000]),
        (["1,5", "2", "0,125"], [1.5, 2, 0.125]),
        (["1 234,5", "7", "12\u202f000"], [1234.5, 7, 12000]),
        (["1'234.50", "1", "2"], [1234.5, 1, 2]),
        (["11.3°C", "-4 °C", "7°C"], [11.3, -4, 7]),
        (["5 km", "1,200 km", "7.5km"], [5, 1200, 7.5]),
        (["USD 1,000", "USD 5", "USD 7"], [1000, 5, 7]),
    ],
)
def test_amounts_become_numbers(levels, numbers):
    rows = table_of(price=[*levels, None], x=[1.0, 2, 3, 4])
    encoding, notes = learn_encoding(rows, standardize=False, keep_missing=True)
    X = encoding.apply(rows).X
    np.testing.assert_allclose(X[:, 0], [*numbers, NAN])
    longest = max(levels, key=lambda level: (len(level), level))
    beginning = f"column 'price' holds amounts: {longest!r} is used as {numbers[levels.index(longest)]:.15g} "
    assert any(note.startswith(beginning) and "use=['price']" in note for note in notes)
    again = TableEncoding.from_dict(json.loads(json.dumps(encoding.to_dict())))
    np.testing.assert_array_equal(again.apply(rows).X, X)
    np.testing.assert_array_equal(again.apply(table_of(price=[2.5], x=[1.0])).X, [[2.5, 1.0]])  # as a number, later


@pytest.mark.parametrize(
    "levels",
    [
        ["€5", "$6"], ["5%", "7"], ["A7", "A8"], ["1.2.3", "1.2.4"], ["030 123 456", "1 200"],
        ["3 stars", "6 stars"], ["5A", "6A"], ["€", "€5"], ["1,2,3", "4,5,6"], ["$5 $", "$6 $"], ["+-5%", "5%"],
        ["1", "2"], ["1.5", "-3"], ["1.234,5", "1,234.5"],
    ],
)  # fmt: skip
def test_what_only_resembles_amounts_stays_text(levels):
    encoding, notes = learn_encoding(table_of(price=levels * 3, x=[1.0, 2, 3, 4, 5, 6]))
    assert encoding.columns[0].levels == tuple(sorted(levels))
    assert not any("amounts" in note for note in notes)


def test_amounts_can_be_categories_and_later_ones_must_be_written_alike():
    rows = table_of(price=["€5", "€6", "€7"])
    assert learn_encoding(rows, roles=Roles(use=("price",)))[0].columns[0].levels == ("€5", "€6", "€7")
    encoding, _ = learn_encoding(rows)
    with pytest.raises(InputError, match=r"'price' held numbers written like €1,234\.5 when .* '\$9' is none"):
        encoding.apply(table_of(price=["$9"]))


@pytest.mark.parametrize(
    ("levels", "hours"),
    [
        (["08:30", "17:45", "0:06"], [8.5, 17.75, 0.1]),
        (["8:30:36", "100:00:00", "0:00:00.90"], [8.51, 100, 0.00025]),
        (["12:15 am", "12:15PM", "1:00 p.m."], [0.25, 12.25, 13]),
        (["1 day, 2:00:00", "0 days 06:30:00", "-1 days +23:00:00"], [26, 6.5, -1]),
        (["9" * 400 + " days 1:00:00", "1 day, 2:00:00", "3:00:00"], None),
        (["1 day, 2:00 PM", "0 days 06:30 AM", "1:30 PM"], None),
        (["11:59:60", "12:30:00 AM", "1:00:00 pm"], None),
        (["12:00:36 AM", "11:00:00 PM", "1:00:00 pm"], [0.01, 23, 13]),
        (["8:30", "8:30:00", "9:00"], None),
        (["8:30", "8:30 PM", "9:00"], None),
        (["13:00 PM", "1:00 PM", "2:00 PM"], None),
        (["0:15 AM", "1:00 PM", "2:00 PM"], None),
        (["3:1", "2:0", "1:1"], None),
        (["16:90", "4:30", "5:30"], None),
    ],
)
def test_times_become_hours(levels, hours):
    rows = table_of(at=[*levels, None, *levels], x=np.arange(7.0))
    encoding, notes = learn_encoding(rows, standardize=False, keep_missing=True)
    if hours is None:
        assert encoding.columns[0].levels == tuple(sorted(levels))
        return
    X = encoding.apply(rows).X
    np.testing.assert_allclose(X[:4, 0], [*hours, NAN], rtol=1e-12)
    longest = max(levels, key=lambda level: (len(level), level))
    beginning = f"column 'at' holds times: {longest!r} is used as {hours[levels.index(longest)]:.5g} "
    assert any(note.startswith(beginning) and "use=['at']" in note for note in notes)
    again = TableEncoding.from_dict(json.loads(json.dumps(encoding.to_dict())))
    np.testing.assert_array_equal(again.apply(rows).X, X)
    np.testing.assert_array_equal(again.shown(rows)["at"], X[:, 0])
    as_levels, _ = learn_encoding(rows, roles=Roles(use=("at",)), keep_missing=True)
    assert as_levels.columns[0].levels == tuple(sorted(levels))


def test_durations_and_times_are_hours_in_every_kind_of_table(tmp_path):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    took = [dt.timedelta(hours=2, minutes=30), None, dt.timedelta(days=1, seconds=0.9), dt.timedelta(hours=-1)]
    at = [dt.time(8, 30), dt.time(17, 45), None, dt.time(0, 0, 36)]
    frame = pl.DataFrame({"took": took, "at": at})
    frame.write_parquet(tmp_path / "t.parquet")
    pandas = pd.DataFrame({"took": pd.to_timedelta(took), "at": at})
    for source in (frame, pandas, frame.to_arrow(), read_table(tmp_path / "t.parquet")):
        table = table_from_frame(source, Roles())
        assert table.columns["took"].levels == ("-1 day, 23:00:00", "1 day, 0:00:00.900000", "2:30:00")
        encoding, _ = learn_encoding(table, standardize=False, keep_missing=True)
        hours = encoding.apply(table).X
        np.testing.assert_allclose(hours, [[2.5, 8.5], [NAN, 17.75], [24.00025, NAN], [-1, 0.01]], rtol=1e-12)


def test_later_times_must_be_written_alike():
    encoding, _ = learn_encoding(table_of(at=["8:30", "9:30", "17:00"]))
    with pytest.raises(InputError, match="'at' held times written like 8:30 when .* '8:30 PM' is none"):
        encoding.apply(table_of(at=["8:30 PM"]))


def test_levels_that_differ_in_case_or_blanks_are_said():
    note = "levels of column 'plan' that differ only in case or blanks are kept apart: 'A' and 'a'; 'Pro' and 'p ro'"
    assert note in learn_encoding(table_of(plan=["a", "A", "Pro", "p ro", "x"] * 2))[1]
    assert not any("kept apart" in note for note in learn_encoding(table_of(plan=["a", "b"] * 2))[1])


def test_the_words_are_named_when_numbers_became_text():
    encoding, _ = learn_encoding(ROWS)
    with pytest.raises(InputError, match="holds text now, such as 'abc'"):
        encoding.apply(table_of(width=["-10.0", "abc", "5"], colour=["red"] * 3, height=[1] * 3))


def test_a_few_extreme_values_that_set_a_scale_are_said():
    rng = np.random.default_rng(0)
    price, flat = np.exp(rng.normal(size=200)), np.zeros(200)
    price[[3, 90]] = 1e5, 2e5
    flat[0] = 1e300
    table = table_of(price=price, size=rng.normal(size=200), skewed=np.exp(rng.normal(size=200)), flat=flat)
    far_out = [note for note in learn_encoding(table)[1] if "far out" in note]
    assert far_out == [
        "2 of 200 values of column 'price' lie far out and set its scale: the others hardly count (show=['price'] "
        "keeps it out of the map; a logarithm may help)"
    ]
    assert not any("far out" in note for note in learn_encoding(table, standardize=False)[1])


# A category weighs as a column of numbers


@pytest.mark.parametrize("n_levels", [2, 3, 10, 25])
def test_a_category_adds_as_much_to_squared_distances_as_a_number(n_levels):
    rng = np.random.default_rng(n_levels)
    shares = rng.dirichlet(np.ones(n_levels))
    rows = table_of(
        width=rng.normal(size=200), site=rng.choice([f"s{i}" for i in range(n_levels)], 200, p=shares).tolist()
    )
    X = learn_encoding(rows)[0].apply(rows).X

    def mean_squared_distance(block):
        return ((block[:, None] - block[None]) ** 2).sum(axis=2).mean()

    np.testing.assert_allclose(mean_squared_distance(X[:, 1:]), mean_squared_distance(X[:, :1]))


# Batches and files


def test_batches_are_encoded_as_the_whole():
    rng = np.random.default_rng(0)
    whole = pa.table({"a": rng.normal(size=20), "b": rng.choice(["u", "v", "w"], 20), "k": range(20)})
    roles = Roles(target="k")
    encoding, _ = learn_encoding(table_from_arrow(whole, roles), roles=roles)
    X = encoding.apply(whole).X
    pieces = [encoding.apply(batch).X for batch in whole.to_batches(max_chunksize=3)]
    np.testing.assert_array_equal(np.concatenate(pieces), X)
    one = encoding.apply(whole.slice(4, 1)).X
    np.testing.assert_array_equal(one, X[4:5])


def test_round_trip_through_json():
    rows = table_of(a=[0.1, NAN, 1 / 3], b=["x", "y", "y"])
    rows = Table(rows.columns, 3, np.array(["k", "l", "k"], dtype=object))
    encoding, _ = learn_encoding(rows, roles=Roles(target="label", ids="key"), impute="median")
    again = TableEncoding.from_dict(json.loads(json.dumps(encoding.to_dict())))
    assert again == encoding
    assert again.roles == Roles("label", "key", text=("b", "label"), required=False)
    np.testing.assert_array_equal(again.apply(rows).X, encoding.apply(rows).X)


def damaged_encodings():
    encoding = learn_encoding(ROWS, roles=Roles(target="k"))[0].to_dict()
    encoding = json.loads(json.dumps(encoding))
    yield {}
    yield None
    yield {**encoding, "columns": None}
    yield {**encoding, "columns": encoding["columns"] * 2}
    yield {**encoding, "target": 3}
    yield {**encoding, "standardize": "yes"}
    for key, value in [
        ("name", 1), ("levels", [1]), ("levels", ["only"]), ("fill", "no such level"), ("center", [0.0]),
        ("center", ["a", "b"]), ("scale", 0.0), ("scale", None), ("scale", float("nan")), ("other", 1),
    ]:  # fmt: skip
        columns = [dict(column) for column in encoding["columns"]]
        columns[1][key] = value
        yield {**encoding, "columns": columns}


@pytest.mark.parametrize("about", list(damaged_encodings()))
def test_a_damaged_encoding_is_refused(about):
    with pytest.raises(FileFormatError, match="encoding of the columns"):
        TableEncoding.from_dict(about)


def test_text_columns_know_missing_values():
    column = TextColumn(np.array([1, -1, 0]), ("a", "b"))
    assert column.values().tolist() == ["b", None, "a"]
    assert len(column) == 3


# Mondays


def test_what_is_left_of_an_index_is_no_feature():
    rng = np.random.default_rng(0)
    drawn = rng.permutation(1000)[:100].astype(float)
    few = rng.integers(0, 4, 100).astype(float)
    for name, column, left_out in (
        ("unnamed_1", drawn, True), ("Unnamed: 0", drawn, True), ("unnamed_1", few, False),
        ("unnamed_1", drawn + 0.5, False), ("unnamed_3", drawn, False),
        ("unnamed_1", np.concatenate([np.arange(50.0), np.arange(50.0)]), True),
    ):  # fmt: skip
        encoding, notes = learn_encoding(Table({name: column, "a": rng.normal(size=100)}, 100))
        assert (name not in encoding.names) == left_out
        assert any("has no name and numbers the rows" in note for note in notes) == left_out


@pytest.mark.parametrize(("n_rows", "used"), [(30_000, True), (5_000, False)])
def test_a_category_of_many_levels_is_used_where_rows_are_many(n_rows, used):
    levels = tuple(f"A{number:03d}" for number in range(101))
    column = TextColumn(np.arange(n_rows) % 101, levels)
    encoding, notes = learn_encoding(Table({"airport": column, "a": np.arange(n_rows) * 1.5}, n_rows))
    assert ("airport" in encoding.names) == used
    assert any("holds 101 different texts" in note for note in notes) != used


def test_postal_codes_are_no_quantity():
    few, many = np.array([10115.0, 80331.0] * 30), np.arange(60.0) + 10_000
    encoding, notes = learn_encoding(Table({"ship_zip": few, "PostalCode": many, "zipper": many}, 60))
    assert encoding.feature_names == ["ship_zip=10115", "ship_zip=80331", "zipper"]
    assert any("'ship_zip' holds postal codes, which are no quantity: used as categories" in note for note in notes)
    assert any("'PostalCode' holds postal codes, which are no quantity: shown, not used" in note for note in notes)
    again = encoding.apply(Table({"ship_zip": few[::-1], "zipper": many}, 60))
    np.testing.assert_array_equal(
        again.X[:, 0], encoding.apply(Table({"ship_zip": few, "zipper": many}, 60)).X[::-1, 0]
    )


def test_columns_that_a_table_lacks_are_asked_for_and_missing():
    table = Table({"a": np.arange(4.0), "b": np.arange(4.0) ** 2, "kind": text_column(["x", "y", "x", "y"])}, 4)
    encoding, _ = learn_encoding(table, keep_missing=True)
    asked = []
    for answer in ("yes", "doubtful"):
        lacking = Table({"a": table.columns["a"], "B": table.columns["b"]}, 4)
        encoded = encoding.apply(lacking, may_lack=lambda names, answer=answer: asked.append(names) or answer)
        np.testing.assert_array_equal(encoded.X[:, 0], encoding.apply(table).X[:, 0])
        assert np.isnan(encoded.X[:, 1:]).all()
        assert (encoded.absent, encoded.doubtful) == ({"b": "B", "kind": ""}, answer == "doubtful")
        assert ("do not trust" in encoded.surprises[0]) == encoded.doubtful
    assert asked == [("b", "kind")] * 2
    for refusal in (None, lambda names: "no"):
        with pytest.raises(InputError, match="lacks 2 of the 3 columns of the map"):
            encoding.apply(lacking, may_lack=refusal)
    strict, _ = learn_encoding(table)
    with pytest.raises(InputError, match="lacks 2 of the 3 columns of the map"):  # it knows nothing of missing values
        strict.apply(lacking, may_lack=lambda names: "yes")


def test_counts_by_library_size_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    counts = rng.poisson(5.0, (20, 3)).astype(float)
    counts[0] = 0.0
    columns = dict(zip("abc", counts.T, strict=True))
    encoding, notes = learn_encoding(Table(columns, 20), normalize="counts", standardize=False)
    sums = counts.sum(axis=1)
    size = np.median(sums[sums > 0])
    assert encoding.library_size == size
    wanted = np.log1p(counts * size / np.where(sums > 0, sums, 1.0)[:, None])
    np.testing.assert_allclose(encoding.apply(Table(columns, 20)).X, wanted, rtol=1e-12)
    assert TableEncoding.from_dict(encoding.to_dict()) == encoding
    assert any("counts were divided by the sum of their row" in note for note in notes)
    for bad in (-1.0, 0.5):
        with pytest.raises(InputError, match="needs whole numbers from 0 on; column 'a' holds"):
            learn_encoding(Table(columns | {"a": counts[:, 0] + bad}, 20), normalize="counts")
    with pytest.raises(FileFormatError):
        TableEncoding.from_dict({**encoding.to_dict(), "library_size": -1.0})


def test_dashes_are_missing_among_dates_and_amounts():
    table = table_of(
        day=["31.01.2020", "-", "2.2.2021", "1.3.2021"], sum=["1,5", "2,25", "\u2013", "7"], strand=["+", "-", "+", "-"]
    )
    encoding, notes = learn_encoding(table, keep_missing=True)
    assert np.isnan(encoding.apply(table).X).sum(axis=0).tolist() == [1, 1, 0, 0]
    assert any("'day' 1, 'sum' 1" in note for note in notes)
    assert encoding.feature_names[2:] == ["strand=+", "strand=-"]


def test_decimal_commas_with_words_among_them_are_refused():
    values = [f"{number / 8:.3f}".replace(".", ",") for number in range(60)]
    with pytest.raises(InputError, match="hold numbers with words among them: 'crp' but for 'sample lost'"):
        learn_encoding(table_of(crp=[*values, "sample lost"], age=range(61)))
