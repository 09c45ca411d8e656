"""A table as people have them: keys, dates, remarks; each decision is said once and repeated by `apply`."""

import gzip

import numpy as np
import pytest

from prismap.explorer.folder import load_folder

parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def messy(tmp_path):
    rng = np.random.default_rng(0)
    size = rng.normal(size=60)
    lines = ["customer_id,visited,size,site,remark,price"]
    for row, value in enumerate(size):
        day = f"2021-{1 + row % 12:02d}-{1 + row % 28:02d}"
        lines.append(
            f"{10**18 + row},{day},{value:.4f},{'ABC'[row % 3]},remark {row} of a customer,{40 + 10 * value:.0f}"
        )
    path = tmp_path / "messy.csv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


def test_every_decision_is_said_once_and_repeated_on_new_rows(messy, run, tmp_path):
    words = ["--target", "price", "--method", "mds", "--perplexity", "8", "-o", tmp_path / "out"]
    code, out, err = run("map", messy, *words)
    assert code == 0, err
    decisions = [
        "column 'customer_id' names the rows: shown, not used (--id customer_id names them by it",
        "column 'visited' holds dates: used as days (--show visited keeps it out of the map)",
        "column 'remark' holds 60 different texts such as 'remark 0 of a customer': shown, not used (--use remark",
        "the target is taken as a quantity: it has ",
    ]
    page = load_folder(tmp_path / "out")
    for decision in decisions:
        assert (out + err).count(decision) == 1
        assert sum(decision in note for note in page.notes) == 1
    assert "(--target-kind class takes its values as classes)" in err
    assert "remark" in page.columns
    code, _, err = run("apply", tmp_path / "out", messy, "-o", tmp_path / "again.parquet")
    assert code == 0, err
    first, again = (parquet.read_table(path) for path in (tmp_path / "out" / "map.parquet", tmp_path / "again.parquet"))
    assert again.column("target").to_pylist() == first.column("target").to_pylist()
    assert np.isfinite(again.column("x").to_numpy()).all()


def test_switches_overrule_the_decisions(messy, run, tmp_path):
    words = [
        "--target-kind",
        "none",
        "--method",
        "mds",
        "--drop",
        "price",
        "--id",
        "customer_id",
        "--show",
        "visited,site",
    ]
    code, _, err = run("map", messy, *words, "--use", "remark", "--perplexity", "8", "-o", tmp_path / "out")
    assert code == 0, err
    assert "dates" not in err
    assert "fitting a map of 60 rows, 61 features" in err
    assert "remark (60)" in err
    assert parquet.read_table(tmp_path / "out" / "map.parquet").column("id").to_pylist() == [
        str(10**18 + row) for row in range(60)
    ]
