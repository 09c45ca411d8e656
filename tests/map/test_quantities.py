"""A target of dates, times or amounts is a quantity, whatever the table; few of them are classes, by their names."""

import json

import numpy as np
import pytest

from prismap import PrisMap
from prismap.cli.view import labels_for
from prismap.exceptions import FileFormatError, InputError
from prismap.map._tables import prepare, with_quantities
from prismap.tables import Roles, TableEncoding, read_batches, read_table, table_from_frame

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
X = np.random.default_rng(0).normal(size=(60, 3))
DAYS = np.round(100 * X[:, 0] + 400)
EPOCH = pd.Timestamp("2020-01-01")
#: What is in the cells, the numbers that they are, and what the note says.
TARGETS = {
    "dates": (EPOCH + pd.to_timedelta(DAYS, unit="D"), DAYS + 18262, "holds dates: used as days since 1970"),
    "written dates": ((EPOCH + pd.to_timedelta(DAYS, unit="D")).strftime("%d.%m.%Y"), DAYS + 18262, "holds dates"),
    "durations": (pd.to_timedelta(DAYS, unit="min"), DAYS / 60, "holds times"),
    "times": ([f"{int(m) // 60}:{int(m) % 60:02d}" for m in DAYS], DAYS / 60, "holds times"),
    "amounts": ([f"${day + 1000:,.2f}" for day in DAYS], DAYS + 1000, "holds amounts: '$1,"),
}


def frame(target, **more):
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": target, **more})


def prepared(table, target="y", **options):
    roles = Roles(target) if isinstance(target, str) else Roles(target[0], also=tuple(target[1:]))
    return prepare(table_from_frame(table, roles), roles, **options)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("source", ["pandas", "parquet", "csv"])
def test_a_target_of_dates_times_or_amounts_is_a_quantity(name, source, tmp_path):
    cells, numbers, said = TARGETS[name]
    table = frame(cells)
    path = tmp_path / f"t.{source}"
    if source == "parquet":
        table.to_parquet(path)
    elif source == "csv":
        table.to_csv(path, index=False)
    if source != "pandas":
        table = read_table(path, Roles("y"))
    ready = prepared(table)
    assert ready.target_kind == "real"
    np.testing.assert_allclose(ready.y, numbers, rtol=1e-12)
    assert any(note.startswith(f"the target 'y' {said}") for note in ready.notes)
    assert any(note.startswith("the target is taken as a quantity") for note in ready.notes)
    again = TableEncoding.from_dict(json.loads(json.dumps(ready.encoding.to_dict())))
    assert again == ready.encoding
    np.testing.assert_array_equal(table_from_frame(frame(cells), again.roles).target, ready.y)
    if source != "pandas":
        parts = list(read_batches(path, None, again.roles, n_rows=7))  # no batch decides for itself
        np.testing.assert_array_equal(np.concatenate([part.target for part in parts]), ready.y)


def test_few_amounts_are_classes_by_their_names_unless_a_quantity_is_asked_for():
    plans = np.tile(["$9.99", "$19.99", "$49.99"], 20)
    for options in ({}, {"target_kind": "class"}):
        ready = prepared(frame(plans), **options)
        assert (ready.target_kind, list(ready.y[:2])) == ("class", ["$9.99", "$19.99"])
        assert ready.encoding.written_targets == ()
    ready = prepared(frame(plans), target_kind="real")
    np.testing.assert_array_equal(ready.y[:3], [9.99, 19.99, 49.99])
    assert ready.encoding.written_targets == (("y", "$1,234.5"),)
    many = prepared(frame(TARGETS["amounts"][0]), target_kind="class")
    assert many.y.dtype == object


def test_dates_that_look_like_codes_stay_classes():
    months = pd.date_range("2020-01-01", periods=15, freq="MS")
    ready = prepared(frame(np.random.default_rng(1).permutation(np.repeat(months, 4))))
    assert (ready.target_kind, ready.encoding.written_targets) == ("class", ())


def test_missing_labels_stay_missing_and_odd_ones_are_refused_later():
    cells = list(TARGETS["amounts"][0])
    cells[3] = None
    ready = prepared(frame(cells))
    assert np.flatnonzero(np.isnan(ready.y)).tolist() == [3]
    assert "1 row has no target; it is placed without one" in ready.notes
    with pytest.raises(InputError, match=r"'y' held numbers written like \$1,234\.5 when .*; '€5' is none"):
        table_from_frame(frame(["€5"] * 60), ready.encoding.roles)
    unlabelled = table_from_frame(frame(cells).drop(columns="y"), ready.encoding.roles)
    assert unlabelled.target is None
    assert with_quantities(unlabelled, ready.encoding.roles, ready.X) == (unlabelled, (), [])


def test_each_of_several_targets_is_looked_at():
    table = frame(TARGETS["amounts"][0], when=TARGETS["dates"][0], group=np.tile(["u", "v"], 30))
    ready = prepared(table, ["group", "when", "y"])
    assert dict(ready.encoding.written_targets) == {"when": "iso", "y": "$1,234.5"}
    np.testing.assert_allclose(ready.y["when"], TARGETS["dates"][1])
    assert ready.y["group"].dtype == object
    as_asked = prepared(table, ["group", "when", "y"], target_kind=["class", "class", "real"])
    assert dict(as_asked.encoding.written_targets) == {"y": "$1,234.5"}


@pytest.mark.parametrize("damage", [[["y", "no way"]], [["z", "iso"]], [["y"]], [[1, 2]], 5])
def test_a_damaged_way_of_writing_is_refused(damage):
    about = prepared(frame(TARGETS["dates"][0])).encoding.to_dict()
    with pytest.raises(FileFormatError, match="is damaged"):
        TableEncoding.from_dict({**about, "written_targets": damage})


def test_a_fitted_map_reads_its_target_again(tmp_path):
    table = frame(TARGETS["dates"][0])
    m = PrisMap.from_table(table[:45], "y", method="mds", perplexity=10, random_state=0)
    assert any("taken as a quantity" in note for note in m.notes_)
    score = m.score(table[45:])
    m.save(tmp_path / "m.prismap")
    assert PrisMap.load(tmp_path / "m.prismap").score(table[45:]) == score > 0.5


def test_a_regressor_is_shown_beside_the_numbers_of_its_target():
    cells, numbers, _ = TARGETS["amounts"]
    np.testing.assert_allclose(labels_for(object(), np.array(cells, dtype=object)), numbers)


def test_later_targets_without_a_unit_are_read_as_the_first_ones_were(tmp_path):
    euros = [f"{int(day) + 1000:,},50 €".replace(",", ".", 1) for day in DAYS]
    (tmp_path / "later.csv").write_text("a,b,c,y,z\n1,2,3,1.234,1.234\n", encoding="utf-8")
    roles = prepared(frame(euros, z=euros), ["y", "z"]).encoding.roles
    later = read_table(tmp_path / "later.csv", roles)
    assert (later.target.tolist(), later.also["z"].tolist()) == ([1234.0], [1234.0])
