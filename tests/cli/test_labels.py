"""Row ids and classes through `map`, its model, its page and `apply`: none is merged, none is changed."""

import csv

import numpy as np
import pytest

from cli.flowers import write_flowers
from prismap.map import PrisMap
from prismap.page._folder import load_folder
from prismap.tables import Roles, read_table

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = 48
IDS = {
    "19 digits": [str(1234567890123456789 + row) for row in range(ROWS)],
    "unsigned": [str(2**63 + row) for row in range(ROWS)],
    "padded": [f"{row:05d}" for row in range(ROWS)],
    "alike": [f"{row // 3}{('', '.0', '.00')[row % 3]}" for row in range(ROWS)],
    "blanks": [f"{' ' * (row % 2)}k{row // 2}" for row in range(ROWS)],
}
CLASSES = ["01", "1", "1.0"]


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    """A map of a csv file with difficult classes, and long keys."""
    from prismap.cli.main import main

    folder = tmp_path_factory.mktemp("labels")
    species = [CLASSES[row % 3] for row in range(ROWS)]
    data = write_flowers(folder / "flowers.csv", n_rows=ROWS, key=IDS["19 digits"], species=species)
    words = ["map", data, "--target", "species", "--id", "key", "--method", "mds", "--perplexity", "8", "--quiet"]
    assert main([*map(str, words), "-o", str(folder / "out")]) == 0
    return folder / "out", species


def column(path, name):
    return [None if value is None else str(value) for value in parquet.read_table(path).column(name).to_pylist()]


def test_map_keeps_ids_and_classes(mapped):
    folder, species = mapped
    assert column(folder / "map.parquet", "id") == IDS["19 digits"]
    assert column(folder / "map.parquet", "target") == species
    assert PrisMap.load(folder / "model.prismap").classes_.tolist() == CLASSES
    page = load_folder(folder)
    assert list(page.row_ids) == IDS["19 digits"]
    assert list(page.target.classes) == CLASSES


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_apply_keeps_ids_and_classes(mapped, run, tmp_path, kind, ending):
    species = ["01", "2"] * (ROWS // 2)
    data = write_flowers(tmp_path / "new.csv", n_rows=ROWS, key=IDS[kind], species=species)
    code, _, err = run("apply", mapped[0], data, "-o", tmp_path / f"placed.{ending}")
    assert code == 0, err
    assert "classes the map was not fitted with: 2" in err
    if ending == "parquet":
        assert column(tmp_path / "placed.parquet", "id") == IDS[kind]
        assert column(tmp_path / "placed.parquet", "target") == species
    else:
        with open(tmp_path / "placed.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["id"] for row in rows] == IDS[kind]
        assert [row["target"] for row in rows] == species


@pytest.mark.parametrize("name", ["new.parquet", "new.feather"])
@pytest.mark.parametrize("kind", [pa.uint64(), pa.int64()])
def test_apply_keeps_integers_with_a_null(mapped, run, tmp_path, monkeypatch, name, kind):
    from pyarrow import feather

    monkeypatch.setattr("prismap.scale._files.batch_rows", lambda n_features: 7)
    first = 2**63 if kind == pa.uint64() else 1234567890123456789
    keys = [None] * 7 + [first + row for row in range(ROWS - 7)]
    table = read_table(write_flowers(tmp_path / "f.csv", n_rows=ROWS), Roles(ids="key", drop=("species",)))
    columns = {name: getattr(values, "values", lambda v=values: v)() for name, values in table.columns.items()}
    rows = pa.table({**columns, "key": pa.array(keys, kind)})
    parquet.write_table(rows, tmp_path / name) if name.endswith("parquet") else feather.write_feather(
        rows, str(tmp_path / name)
    )
    code, _, err = run("apply", mapped[0], tmp_path / name, "-o", tmp_path / "placed.parquet")
    assert code == 0, err
    placed = parquet.read_table(tmp_path / "placed.parquet")
    assert placed.schema.field("id").type == kind
    assert placed.column("id").to_pylist() == keys


def test_targets_above_two_to_the_63_are_classes_of_their_own(tmp_path, run):
    names = np.array([2**63 + 1, 2**63 + 2, 2**64 - 1], dtype=np.uint64)
    species = [str(names[row % 3]) for row in range(ROWS)]
    data = write_flowers(tmp_path / "flowers.csv", n_rows=ROWS, species=species)
    words = ["--target", "species", "--id", "key", "--method", "mds", "--perplexity", "8", "--quiet"]
    assert run("map", data, *words, "-o", tmp_path / "out")[0] == 0
    assert PrisMap.load(tmp_path / "out" / "model.prismap").classes_.tolist() == names.tolist()
    assert column(tmp_path / "out" / "map.parquet", "target") == species
