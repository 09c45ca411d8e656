"""New objects from files, folders and Dask bags, placed as `place` does."""

import json

import numpy as np
import pytest

from prismap import PrisMap
from prismap.comparisons import Objects
from prismap.embeddings import MDS
from prismap.exceptions import InputError
from prismap.scale import map_file, map_files

WORDS = [stem + end for stem in ("house", "garden", "winter", "summer") for end in ("", "s", "y", "er", "ed", "ing")]
NEW = ["wintered", "housing", "x" * 60]


def hamming(a, b):
    return sum(x != y for x, y in zip(a, b, strict=False)) + abs(len(a) - len(b))


@pytest.fixture(scope="module")
def fitted():
    return PrisMap(MDS(kind="classical"), data=Objects("edit"), perplexity=5, random_state=0).fit(WORDS)


def read(path):
    parquet = pytest.importorskip("pyarrow.parquet")
    return parquet.read_table(path).to_pydict()


@pytest.fixture
def folder(tmp_path):
    """New words as JSON lines with a label, the same as FASTA in a sub-folder, and a note that is neither."""
    made = tmp_path / "new"
    (made / "deeper").mkdir(parents=True)
    (made / "words.jsonl").write_text("".join(json.dumps({"text": w, "name": f"w{k}", "label": "l"}) + "\n"
                                              for k, w in enumerate(NEW)))  # fmt: skip
    (made / "deeper" / "words.fa").write_text("".join(f">w{k}\n{word}\n" for k, word in enumerate(NEW)))
    (made / "readme.md").write_text("nothing here\n")
    return made


def test_files_of_objects_are_placed_one_by_one_or_as_a_folder(fitted, folder, tmp_path):
    Y, far = fitted.place(NEW)
    assert far.tolist() == [False, False, True]
    result = map_file(folder / "words.jsonl", tmp_path / "one.parquet", fitted)
    assert (result.rows, result.far) == (3, 1)
    placed = read(tmp_path / "one.parquet")
    assert np.array_equal(np.column_stack([placed["x"], placed["y"]]), Y)
    assert (placed["id"], placed["far"], placed["target"]) == (["w0", "w1", "w2"], far.tolist(), ["l"] * 3)
    out = tmp_path / "out"
    results = map_files(folder, out, fitted, n_workers=1)
    assert [one.rows for one in results] == [3, 3]
    assert read(out / "words.parquet")["x"] == placed["x"]
    # FASTA is read in capitals: other strings to an edit distance.
    capitals = fitted.transform([word.upper() for word in NEW])
    assert read(out / "deeper" / "words.parquet")["x"] == capitals[:, 0].tolist()
    assert all(one.skipped for one in map_files(folder, out, fitted, n_workers=1))


def test_a_map_from_a_file_knows_that_it_takes_objects(fitted, folder, tmp_path):
    fitted.save(tmp_path / "words.prismap")
    assert [one.rows for one in map_files(folder, tmp_path / "out", tmp_path / "words.prismap", n_workers=1)] == [3, 3]


def test_what_cannot_be_placed_is_named(fitted, folder, tmp_path):
    (folder / "table.csv").write_text("word\nhouse\n")
    (folder / "mixed.jsonl").write_text('{"text": "house"}\n{"series": [1.0]}\n')
    errors = [one.error for one in map_files(folder, tmp_path / "out", fitted, n_workers=1) if one.error]
    assert len(errors) == 2
    assert any("no column of a table holds" in error for error in errors)
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match=r"no data file at .*\.fasta"):
        map_files(folder / "empty", tmp_path / "other", fitted)
    asked = PrisMap(MDS(kind="classical"), data=Objects(hamming, "dissimilarity"), perplexity=5).fit(WORDS)
    asked.save(tmp_path / "function.prismap")
    with pytest.raises(InputError, match="the function 'hamming', which a file cannot hold"):
        map_file(folder / "words.jsonl", tmp_path / "no.parquet", tmp_path / "function.prismap")


def test_a_dask_bag_is_placed_later(fitted):
    bag = pytest.importorskip("dask.bag").from_sequence([*NEW, "gardens"], npartitions=2)
    later = fitted.transform(bag)
    assert type(later).__module__.startswith("dask")
    found = later.compute(scheduler="threads")
    np.testing.assert_array_equal(found, fitted.transform([*NEW, "gardens"]))
    with pytest.raises(InputError, match="fit the map to a list"):
        PrisMap(data=Objects("edit")).fit(bag)
