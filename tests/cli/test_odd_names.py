"""Names that other programs would take for something else: formulas for spreadsheets, and broken TeX for pictures."""

import csv

import numpy as np
import pytest

from prismap.bundle import write_map


def test_text_that_a_spreadsheet_would_run_is_text_in_a_csv_file(tmp_path):
    words = ["=cmd|' /C calc'!A0", "+1+1", "-1.5", "@SUM(A1)", "\t=1", " =1", "\uff1d1", "plain", "1e-3", None]
    write_map(tmp_path / "m.csv", {"=id": np.array(words, dtype=object), "x": np.arange(10) - 5.0})
    with open(tmp_path / "m.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["'=id", "x"]
    assert [row[0] for row in rows] == [
        "'=cmd|' /C calc'!A0", "'+1+1", "-1.5", "'@SUM(A1)", "'\t=1", "' =1", "'\uff1d1", "plain", "1e-3", "",
    ]  # fmt: skip
    assert [float(row[1]) for row in rows] == (np.arange(10) - 5.0).tolist()


def test_applied_ids_are_no_formulas(run, flowers, tmp_path):
    lines = flowers.read_text().splitlines()
    named = [f"{lines[0]},tag", *(f"{line},=cmd|{i}" for i, line in enumerate(lines[1:]))]
    (tmp_path / "named.csv").write_text("\n".join(named))
    assert run("map", tmp_path / "named.csv", "--id", "tag", "-o", tmp_path / "out", "--quick")[0] == 0
    assert run("apply", tmp_path / "out" / "model.prismap", tmp_path / "named.csv", "-o", tmp_path / "p.csv")[0] == 0
    text = (tmp_path / "p.csv").read_text()
    assert "'=cmd|0" in text
    assert not any(cell.startswith("=") for line in text.splitlines() for cell in line.split(","))


@pytest.mark.parametrize("name", [r"$\frac$", r"$\nonsense{$", "$_$", "a$b"])
def test_names_that_are_broken_tex_are_drawn_as_they_are(run, tmp_path, name):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(40, 4)).round(3).astype(str)
    lines = ["x,y,c,d,kind", *(",".join([*row, ("z", name)[i % 2]]) for i, row in enumerate(numbers))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    command = ["judge", tmp_path / "t.csv", "--x", "x", "--y", "y", "--target", "kind", "-o", tmp_path / "out"]
    code, _, err = run(*command)
    assert code == 0, err
    assert (tmp_path / "out" / "map.png").exists()
    from prismap.inspection import MapDisplay

    display = MapDisplay(rng.normal(size=(40, 2)), np.arange(40) % 2, ["z", name], name)
    display.plot(labels=True)
    display.figure_.canvas.draw()


def test_quick_objects_are_not_judged(run, tmp_path):
    words = ["".join(np.random.default_rng(i).choice(list("abcd"), 5)) for i in range(25)]
    (tmp_path / "t.csv").write_text("\n".join(["word,kind", *(f"{word},{i % 2}" for i, word in enumerate(words))]))
    command = ["map", tmp_path / "t.csv", "--compare", "edit", "--column", "word", "--target", "kind"]
    code, out, err = run(*command, "-o", tmp_path / "out", "--quick")
    assert code == 0, err
    assert "not judged (--quick)" in out
    assert not (tmp_path / "out" / "report.json").exists()
