"""Objects from files."""

import gzip
import json

import numpy as np
import pytest

from prismap.comparisons import COMPARISONS, Objects, read_fasta, read_json_lines, text_column
from prismap.comparisons._reading import KINDS
from prismap.exceptions import FileFormatError, InputError
from prismap.tables import Roles, read_table

FASTA = "; a note\n>P1 first protein\nMKT ay\nIAK 10\n\n>P2\nMKV*\n>\nACD\n"


@pytest.mark.parametrize("name", ["a.fasta", "a.fasta.gz"])
def test_fasta_is_read(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(gzip.compress(FASTA.encode()) if name.endswith("gz") else FASTA.replace("\n", "\r\n").encode())
    things = read_fasta(path)
    assert things.objects == ["MKTAYIAK", "MKV", "ACD"]
    assert things.names == ["P1", "P2", "sequence 3"]
    assert len(things) == 3
    assert things.labels is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MKT\n>P1\nA\n", "line 1 is text before the first '>'"),
        ("\n", "holds no sequence"),
        (">P1\n>P2\nA\n", "sequence 'P1' is empty"),
    ],
)
def test_what_is_no_fasta_is_refused(text, message, tmp_path):
    path = tmp_path / "a.fasta"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_fasta(path)


def test_unreadable_files_are_named(tmp_path):
    with pytest.raises(InputError, match="missing.fasta cannot be read"):
        read_fasta(tmp_path / "missing.fasta")
    (tmp_path / "a.fasta").write_bytes(b">a\n\xff\xfe\x00")
    (tmp_path / "a.gz").write_bytes(b"no gzip")
    for name in ("a.fasta", "a.gz"):
        with pytest.raises(FileFormatError, match="damaged or no text"):
            read_fasta(tmp_path / name)


def test_a_column_of_text_is_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,word,size,kind\nr1,kitten,1,cat\nr2,sitting,2,other\n")
    table = read_table(path, Roles(target="kind", ids="id"))
    things = text_column(table, "word")
    assert things.objects == ["kitten", "sitting"]
    assert things.names == ["r1", "r2"]
    assert things.labels == ["cat", "other"]
    with pytest.raises(InputError, match="column 'wrd' is not in the table. Columns: word, size"):
        text_column(table, "wrd")
    with pytest.raises(InputError, match="column 'size' holds numbers"):
        text_column(table, "size")
    path.write_text("word,size\nkitten,1\n,2\n")
    with pytest.raises(InputError, match="column 'word' has 1 missing texts, the first in row 2"):
        text_column(read_table(path), "word")


EXAMPLES = {
    "text": "kitten", "series": [0.0, 1.0, 0.5], "graph": {"nodes": ["C", "O"], "edges": [[0, 1]]},
    "tree": ["f", ["d", "a", "b"], "e"], "set": ["milk", "bread"], "histogram": [3, 1, 0],
    "cloud": {"points": [[0.0, 1.0], [2.0, 2.0]], "weights": [1, 2]},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_json_lines_of_each_kind_go_to_a_comparison(kind, tmp_path):
    path = tmp_path / "a.jsonl"
    lines = [{kind: EXAMPLES[kind], "name": "first", "label": "x"}, {kind: EXAMPLES[kind]}]
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n")
    things = read_json_lines(path)
    assert things.names == ["first", "2"]
    assert things.labels == ["x", None]
    values = Objects(KINDS[kind]).over(things.objects).block()
    np.testing.assert_allclose(values, 0 if COMPARISONS[KINDS[kind]].kind == "dissimilarity" else 1, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1 is not JSON"),
        ("[1]", "line 1 must hold exactly one of the keys text, series"),
        ('{"text": "a", "tree": ["a"]}', "exactly one of the keys"),
        ('{"text": "a"}\n{"tree": ["a"]}', "line 2 is a tree, those before are a text"),
        ("", "holds no objects"),
    ],
)
def test_wrong_lines_are_refused(text, message, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_json_lines(path)
