"""The tables of a Monday morning: titles, codes, gaps, dates and a column that is not there, through every command."""

import json
from pathlib import Path

import numpy as np
import pytest

from cli.flowers import write_flowers
from prismap.cli.main import main
from prismap.page._folder import load_folder

parquet = pytest.importorskip("pyarrow.parquet")


def write_customers(path, n_rows=150, seed=0, **changes):
    """Customers with keys, codes, dates, times, gaps and remarks; who leaves depends on tenure and charge."""
    rng = np.random.default_rng(seed)
    tenure, charge = rng.gamma(2.0, 12.0, n_rows).round(), rng.normal(40, 12, n_rows)
    leaves = (charge - 40) / 12 - (tenure - 24) / 12 + rng.normal(0, 0.3, n_rows) > 0
    gap = rng.random(n_rows) < 0.1
    columns = {
        "": [str(number) for number in rng.permutation(10 * n_rows)[:n_rows]],
        "customer": [f"C{row:05d}" for row in range(n_rows)],
        "zip": [f"{code:05d}" for code in rng.integers(501, 60_000, n_rows)],
        "signup": [str(np.datetime64("2024-06-01") - int(days)) for days in 30 * tenure + rng.integers(0, 90, n_rows)],
        "plan": ["" if row % 17 == 3 else ("basic", "plus", "pro")[row % 3] for row in range(n_rows)],
        "tenure": [f"{value:.0f}" for value in tenure],
        "charge": ["" if gone else f"{value:.2f}" for value, gone in zip(charge, gap, strict=True)],
        "minutes": [f"{value:.1f}" for value in rng.gamma(3.0, 60.0, n_rows)],
        "call": [f"{hour}:{minute:02d}" for hour, minute in rng.integers(0, 24, (n_rows, 2))],
        "remark": [f"customer {row} called about bill {row * 7919 % 1000}" for row in range(n_rows)],
        "u1": [f"{value:.3f}" for value in tenure / 12 + rng.normal(0, 0.2, n_rows)],
        "u2": [f"{value:.3f}" for value in charge / 12 + rng.normal(0, 0.2, n_rows)],
        "churn": [("no", "yes")[int(one)] for one in leaves],
    }
    columns.update(changes)
    names = [name for name, values in columns.items() if values is not None]
    lines = [",".join(names), *(",".join(row) for row in zip(*(columns[name] for name in names), strict=True))]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return Path(path)


@pytest.fixture(scope="session")
def customers(tmp_path_factory):
    """The table, and a map of it that was not judged."""
    folder = tmp_path_factory.mktemp("customers")
    path = write_customers(folder / "customers.csv")
    words = ["map", str(path), "--target", "churn", "--drop", "u1,u2", "--quick", "--quiet", "-o", str(folder / "out")]
    assert main(words) == 0
    return path, folder / "out"


#: What no message may hold: numbers of columns in place of their names, and advice for programmers.
NEVER = ("SimpleImputer", "column 1", "column 2", "Traceback", "sklearn")


def test_every_command_takes_a_messy_table(customers, run, tmp_path, monkeypatch):
    path, out = customers
    new = write_customers(tmp_path / "new.csv", n_rows=30, seed=1, churn=None)
    model = skops_model(path, tmp_path / "model.skops")
    served = []
    monkeypatch.setattr("prismap.page.serve", lambda make, **options: served.append(make(lambda *words: None)))
    commands = {
        "map": (path, "--target", "churn", "--drop", "u1,u2", "--budget", "1 s", "-o", tmp_path / "map"),
        "apply": (out, new, "-o", tmp_path / "placed.parquet"),
        "judge": (path, "--x", "u1", "--y", "u2", "--target", "churn", "-o", tmp_path / "judged"),
        "compare": (
            path,
            "--target",
            "churn",
            "--methods",
            "pca,lda",
            "--budget",
            "quick",
            "-o",
            tmp_path / "compared",
        ),
        "view": (model, path, "--target", "churn", "--folds", "2", "--resolution", "20", "-o", tmp_path / "view"),
        "relevance": (out, path),
        "report": (out, "--budget", "quick"),
        "explore": (path, "--target", "churn", "--drop", "u1,u2", "--quick", "--no-open"),
    }
    for command, words in commands.items():
        code, said, noted = run(command, *words)
        assert code == 0, noted
        assert not [bad for bad in NEVER if bad in said + noted], said + noted
    assert len(served) == 1
    placed = parquet.read_table(tmp_path / "placed.parquet")
    assert (placed.num_rows, np.isfinite(placed["x"].to_numpy()).all()) == (30, True)


def skops_model(path, where):
    """A model of two columns with gaps, in a file."""
    skops, pandas = pytest.importorskip("skops.io"), pytest.importorskip("pandas")
    from sklearn.linear_model import LogisticRegression

    frame = pandas.read_csv(path)
    X = frame[["tenure", "charge"]].fillna(frame["charge"].median())
    skops.dump(LogisticRegression().fit(X, frame["churn"]), where)
    return where


# --- 11: columns and levels that differ ---


def test_a_column_that_hardly_matters_may_be_absent(customers, run, tmp_path):
    code, _, err = run(
        "apply", customers[1], write_customers(tmp_path / "new.csv", minutes=None), "-o", tmp_path / "a.csv"
    )
    assert code == 0, err
    assert "note: the table lacks a column of the map: -'minutes'. It counts as missing in all rows" in err
    assert "do not trust" not in err


def test_rows_without_a_column_that_tells_much_are_far(customers, run, tmp_path):
    new = write_customers(tmp_path / "new.csv", charge=None, Charge=["1"] * 150)
    code, out, err = run("apply", customers[1], new, "-o", tmp_path / "a.parquet", "--json")
    assert code == 0, err
    assert (
        "-'charge' (+'Charge'?). It counts as missing in all rows, which are placed by the other columns, but it" in err
    )
    answer = json.loads(out)
    assert (answer["far"], answer["absent"], answer["doubtful"]) == (150, {"charge": "Charge"}, True)
    assert parquet.read_table(tmp_path / "a.parquet")["far"].to_numpy().all()


def test_rows_without_the_main_columns_are_refused(customers, refused, tmp_path):
    new = write_customers(tmp_path / "new.csv", charge=None, tenure=None, signup=None)
    message = refused("apply", customers[1], new, "-o", tmp_path / "a.csv")
    assert (
        "lacks 3 of the 6 columns of the map: -'signup', -'tenure', -'charge'. The other columns tell too little"
        in message
    )


def test_new_levels_and_another_unit_are_named(customers, run, tmp_path):
    seconds = [f"{60 * value:.1f}" for value in np.random.default_rng(5).gamma(3.0, 60.0, 150)]
    plans = ["gold", "silver", *["basic"] * 148]
    new = write_customers(tmp_path / "new.csv", minutes=seconds, plan=plans)
    code, _, err = run("apply", customers[1], new, "-o", tmp_path / "a.csv")
    assert code == 0, err
    assert "column 'plan' has levels in 2 of the rows that the map has not seen: 'gold', 'silver'." in err
    assert "'minutes': its median is 6" in err
    assert "(a change of unit?)" in err


# --- 13: what the reader finds ---


def test_codes_and_an_index_are_no_features(customers, run, tmp_path):
    code, _, err = run("map", customers[0], "--target", "churn", "--drop", "u1,u2", "--quick", "-o", tmp_path / "out")
    assert code == 0, err
    assert "note: column 'unnamed_1' has no name and numbers the rows: it was left out (--use unnamed_1 uses it)" in err
    assert "note: column 'zip' holds codes with leading zeros, such as '" in err
    assert "fitting a map of 150 rows, 8 features" in err


def test_a_workbook_with_a_title_and_two_sheets(run, refused, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book, path = openpyxl.Workbook(), tmp_path / "book.xlsx"
    book.active.title = "May"
    april = book.create_sheet("April")
    lines = write_flowers(tmp_path / "flowers.csv", n_rows=45).read_text().splitlines()
    for sheet in (book.active, april):
        for row in (["Flowers of the month"], [], ["Seen by:", "Ann"], *(line.split(",") for line in lines)):
            sheet.append([float(cell) if cell.replace(".", "").replace("-", "").isdigit() else cell for cell in row])
    april["B5"] = 99.0
    book.save(path)
    words = ("--target", "species", "--id", "key", "--quick")
    code, _, err = run("map", path, *words, "-o", tmp_path / "out")
    assert code == 0, err
    assert "has several sheets: 'May' was read, and not 'April' (--sheet names another)" in err
    assert "3 rows above the names in the sheet 'May' hold a title and were left out: 'Flowers of the month Seen" in err
    code, _, err = run("map", path, *words, "--sheet", "April", "--skip-rows", "3", "-o", tmp_path / "april")
    assert code == 0, err
    assert "several sheets" not in err
    assert "above the names" not in err
    assert load_folder(tmp_path / "april").columns["sl"][0] == 99.0
    assert "has no sheet 'Aprl'; did you mean 'April'?" in refused(
        "map", path, *words, "--sheet", "Aprl", "-o", tmp_path / "x"
    )
    flat = tmp_path / "flowers.csv"
    assert "--sheet 1 is for xlsx files" in refused("map", flat, *words, "--sheet", "1", "-o", tmp_path / "x")
    code, out, err = run("apply", tmp_path / "out", path, "--sheet", "2", "-o", tmp_path / "a.parquet", "--json")
    assert code == 0, err
    assert json.loads(out)["far"] >= 1


def test_counts_are_normalised_alike_later(run, refused, tmp_path):
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 2
    depth = rng.integers(1, 30, 60)[:, None]
    counts = rng.poisson(depth * (1.0 + 4.0 * np.eye(2, 6)[kind]))
    lines = [
        "g1,g2,g3,g4,g5,g6,kind",
        *(",".join(map(str, [*row, "ab"[code]])) for row, code in zip(counts, kind, strict=True)),
    ]
    path = tmp_path / "counts.csv"
    path.write_text("\n".join(lines))
    words = ("--target", "kind", "--normalize", "counts", "--method", "mds", "--perplexity", "8")
    code, _, err = run("map", path, *words, "--quick", "-o", tmp_path / "out")
    assert code == 0, err
    assert "counts were divided by the sum of their row, times " in err
    assert "without standardising" in err
    deeper = ["g1,g2,g3,g4,g5,g6", *(",".join(str(8 * count) for count in row) for row in counts)]
    (tmp_path / "deeper.csv").write_text("\n".join(deeper))
    assert run("apply", tmp_path / "out", tmp_path / "deeper.csv", "-o", tmp_path / "deeper.parquet")[0] == 0
    first, again = (parquet.read_table(tmp_path / name) for name in ("out/map.parquet", "deeper.parquet"))
    np.testing.assert_allclose(again["x"].to_numpy(), first["x"].to_numpy(), atol=1e-6)
    path.write_text(path.read_text().replace(f"\n{counts[0, 0]},", "\n1.5,", 1))
    assert "needs whole numbers from 0 on; column 'g1' holds 1.5" in refused("map", path, *words, "-o", tmp_path / "x")


# --- 14 and 15: words ---


def test_a_map_that_was_not_judged_is_judged_by_report(customers, run):
    code, out, err = run("report", customers[1], "--budget", "quick")
    assert code == 0, err
    assert "was not judged when it was made (--quick): it is judged now" in err
    assert "labels show" in out


def test_the_demo_writes_its_tables_where_it_is_told(run, tmp_path):
    code, out, _ = run("demo", "--tables", "-o", tmp_path / "new" / "folder")
    assert code == 0
    assert (tmp_path / "new" / "folder" / "more.csv").is_file()
    assert f"{tmp_path / 'new' / 'folder' / 'flowers.csv'}: 120 rows" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--metric", "fischer"], "--metric 'fischer' is not known; did you mean fisher? There are fisher, cityblock,"),
        (["--method", "umap"], "kpca and kda. prismap compare --methods umap makes such a map beside that of prismap"),
        (["--method", "isomp"], "'isomp' is not known; did you mean isomap?"),
        (["--mapping", "votes"], "--mapping: 'votes' is not known; did you mean vote?"),
        (["--target-kind", "classes"], "'classes' is not known; did you mean class? There are auto, class, ordered"),
        (["--budget", "quik"], "'quik' is not known; did you mean quick?"),
        (["--supervision", "maxi"], "'maxi' is not known; did you mean max?"),
        (["--perplexty", "5"], "prismap map has no option --perplexty; did you mean --perplexity?"),
        (["--drop", "species"], "column 'species' is named by target and by drop"),
        (["--target", "soil,pw"], "no column 'soil,pw' for target; to map by several targets, name each of them: "
         "--target soil --target pw"),
    ],
)  # fmt: skip
def test_what_is_misspelt_is_answered_with_what_may_be_meant(refused, flowers, tmp_path, words, message):
    assert message in refused("map", flowers, "--target", "species", *words, "-o", tmp_path / "out")


def test_nothing_complains_of_an_option_that_was_not_given(run, tmp_path):
    path = write_flowers(tmp_path / "few.csv", n_rows=30)
    code, _, err = run("map", path, "--target", "species", "--id", "key", "--quick", "-o", tmp_path / "out")
    assert code == 0, err
    assert "note: the usual perplexity of 30 is too high for 30 rows" in err
    assert "--perplexity" not in err


def test_copies_and_leaks_are_said_once(run, tmp_path):
    rng = np.random.default_rng(0)
    lines = ["a,b,leak,kind"]
    for row in range(60):
        kind = row % 2
        lines.append(f"{rng.normal() + kind:.4f},{rng.normal():.4f},{3 * kind},{'no' if kind else 'yes'}")
    path = tmp_path / "copies.csv"
    path.write_text("\n".join([*lines, *lines[1:21]]))
    words = ("--target", "kind", "--method", "mds", "--perplexity", "8", "--budget", "quick", "-o", tmp_path / "out")
    code, out, err = run("map", path, *words)
    assert code == 0, err
    page = load_folder(tmp_path / "out")
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    _, details, _ = run("report", tmp_path / "out", "--details")
    stated = [one["words"] for one in report["statements"]]
    for words in ("are copies of each other", "alone gives"):
        assert (out + err).replace("\n             ", " ").count(words) <= 1  # warnings may be too many for a summary
        assert details.replace("\n             ", " ").count(words) == 1
        assert sum(words in one for one in stated) == 1
        assert not any(words in note for note in page.notes)
