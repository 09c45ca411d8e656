"""A table as people have them: keys, dates, remarks; each decision is said once and repeated by `apply`."""

import gzip

import numpy as np
import pytest

from prismap.page._folder import load_folder

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
        "column 'visited' holds dates: used as days since 1970 (--show visited keeps it out of the map)",
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


@pytest.fixture
def shop(tmp_path):
    """Prices and shares as people write them, levels in two spellings, three copied rows, an empty column."""
    rng = np.random.default_rng(1)
    lines = ["name,price,discount,plan,stock,fax"]
    for row in range(80):
        price = 900 + 300 * rng.random()
        plan = ["basic", "Basic", "pro"][row % 3]
        lines.append(f'n{row},"€{price:,.2f}",{row % 20}%,{plan},{price / 100 + rng.normal():.3f},')
    path = tmp_path / "shop.csv"
    path.write_text("\n".join([*lines, *lines[1:4]]), encoding="utf-8")
    return path


def test_amounts_are_numbers_as_columns_and_as_target(shop, run, tmp_path):
    words = ["--method", "mds", "--perplexity", "8", "-o"]
    code, out, err = run("map", shop, "--target", "price", *words, tmp_path / "price")
    assert code == 0, err
    assert "column 'discount' holds amounts: '19%' is used as 19 (--use discount takes them as categories)" in err
    assert "the target is taken as a quantity: its values have fractions" in err
    assert "target: real" in out
    target = parquet.read_table(tmp_path / "price" / "map.parquet").column("target").to_pylist()
    assert 900 < min(target) <= max(target) < 1200
    code, _, err = run("apply", tmp_path / "price", shop, "-o", tmp_path / "again.parquet")
    assert code == 0, err
    assert parquet.read_table(tmp_path / "again.parquet").column("target").to_pylist() == target
    code, _, err = run("map", shop, "--target", "plan", *words, tmp_path / "plan")
    assert code == 0, err
    assert "column 'price' holds amounts: '€1," in err
    shown = load_folder(tmp_path / "plan").columns
    np.testing.assert_allclose(np.asarray(shown["price"], dtype=float), target, rtol=1e-6)
    assert shown["name"][0] == "n0"


def test_a_careful_colleague_speaks_of_copies_spellings_empty_columns_and_names(shop, run, tmp_path):
    words = ["--method", "mds", "--perplexity", "8", "--quick", "-o"]
    code, _, err = run("map", shop, "--target", "plan", *words, tmp_path / "out")
    assert code == 0, err
    assert "classes of the target that differ only in case or blanks are kept apart: 'Basic' and 'basic'" in err
    assert "rows are copies of each other" in err
    assert "columns without any value were left out: 'fax'" in err
    assert "fewer than two rows for each" not in err
    code, _, err = run("map", shop, "--target", "name", *words, tmp_path / "names")
    assert code == 0, err
    assert err.count("The target has 80 classes for 83 rows, fewer than two rows for each") == 1
    assert "UserWarning" not in err
