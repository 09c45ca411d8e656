"""Dates of a table are points in time wherever they are shown, judged and written."""

import json

import numpy as np
import pytest

from prismap import PrisMap
from prismap.cli.main import main
from prismap.page import page_of
from prismap.page._message import pack_page, read_page_file, unpack_page
from prismap.page._rows import csv_chunks
from prismap.tables import Roles, TableEncoding, learn_encoding, points_in_time, read_table

N = 60


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Orders with two dates, one of them in German, and a plan."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("dates") / "orders.csv"
    lines = ["ordered,shipped,amount,plan,made"]
    for row in range(N):
        day = np.datetime64("2023-01-01") + row
        shipped = (day + 3).astype(object).strftime("%d.%m.%Y")
        lines.append(f"{day},{shipped},{rng.normal():.3f},{'abc'[row % 3]},{np.datetime64('2019-01-01') + 5 * row}")
    path.write_text("\n".join(lines))
    return path


def test_shown_dates_are_points_in_time_whether_used_or_not(table):
    for roles in (Roles(), Roles(show=("shipped",))):
        rows = read_table(table, roles)
        shown = learn_encoding(rows, roles=roles)[0].shown(rows)
        for name, first in (("ordered", "2023-01-01"), ("shipped", "2023-01-04")):
            assert shown[name].dtype.kind == "M"
            assert shown[name][0] == np.datetime64(first)


def test_features_become_the_columns_they_were_made_of(table):
    rows = read_table(table, Roles())
    encoding = learn_encoding(rows, roles=Roles())[0]
    X = encoding.apply(rows).X
    columns = encoding.decoded(X)
    assert list(columns) == encoding.names
    np.testing.assert_array_equal(columns["ordered"], encoding.shown(rows)["ordered"])
    np.testing.assert_allclose(columns["amount"], rows.columns["amount"], atol=1e-12)
    assert columns["plan"].tolist() == rows.columns["plan"].values().tolist()
    X[0] = np.nan
    missing = encoding.decoded(X)
    assert np.isnat(missing["ordered"][0])
    assert missing["plan"][0] is None


def test_days_are_points_in_time_to_the_second():
    times = points_in_time(np.array([0.0, 1.5, np.nan, -1.0]))
    assert times.astype(str).tolist() == ["1970-01-01T00:00:00", "1970-01-02T12:00:00", "NaT", "1969-12-31T00:00:00"]


def test_a_date_target_has_a_unit_on_the_page_and_in_its_csv(table):
    frame = pytest.importorskip("pandas").read_csv(table)
    model = PrisMap.from_table(frame, target="made", perplexity=5, random_state=0, supervision=0.8)
    page = page_of(model, judge=False)
    assert page.target.unit == "date"
    assert unpack_page(pack_page(page)).target.unit == "date"
    assert page.columns["ordered"].dtype.kind == "M"
    assert "ordered" in page.relevance.names
    lines = "".join(csv_chunks(page, page.layers[0], np.arange(2))).splitlines()
    assert "2019-01-01" in lines[1]
    assert "2019-01-06" in lines[2]
    assert TableEncoding.from_dict(json.loads(json.dumps(model.encoding_.to_dict()))).date_targets == ("made",)


def test_a_used_date_column_is_among_the_features_of_the_command_line(table, tmp_path, capsys):
    assert main(["map", str(table), "--target", "plan", "-o", str(tmp_path / "out"), "--quick", "--quiet"]) == 0
    page = read_page_file(tmp_path / "out" / "map.page")
    assert page.columns["ordered"].dtype.kind == page.columns["shipped"].dtype.kind == "M"
    capsys.readouterr()
    assert main(["relevance", str(tmp_path / "out")]) == 0
    listed = capsys.readouterr().out
    assert "ordered" in listed
    assert "shipped" in listed
