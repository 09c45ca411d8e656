"""`prismap map --compare`: sequences, JSON lines and columns of text."""

import json

import numpy as np
import pytest

from cli.flowers import tree
from prismap.map import PrisMap

LETTERS = "ACDEFGHIKLMNPQRSTVWY"


@pytest.fixture
def proteins(tmp_path):
    """Sequences of three families in FASTA, and a table of their families that leaves one out."""
    rng = np.random.default_rng(0)
    heads = ["".join(rng.choice(list(LETTERS), 25)) for _ in range(3)]
    sequences = []
    for k in range(24):
        letters = list(heads[k % 3])
        for place in rng.choice(25, 4, replace=False):
            letters[place] = str(rng.choice(list(LETTERS)))
        sequences.append("".join(letters))
    fasta, labels = tmp_path / "proteins.fasta", tmp_path / "labels.csv"
    fasta.write_text("".join(f">p{k} of someone\n{one}\n" for k, one in enumerate(sequences)))
    labels.write_text("name,family\n" + "".join(f"p{k},family {k % 3}\n" for k in range(23)))
    return fasta, labels


def test_sequences_and_their_labels_become_a_map(run, proteins, tmp_path):
    fasta, labels = proteins
    out = tmp_path / "out"
    code, _, err = run("map", fasta, "--compare", "alignment", "--labels", labels, "-o", out, "--perplexity", "5")
    assert code == 0, err
    assert "1 objects have no label" in err
    m = PrisMap.load(out / "model.prismap")
    assert m.classes_.tolist() == ["family 0", "family 1", "family 2"]
    assert (m.y_ == -1).sum() == 1
    assert repr(m.data) == "Objects('alignment')"
    assert json.loads((out / "report.json").read_text())["target"] == "class"


def test_a_column_of_text_becomes_a_map(run, tmp_path):
    data, out = tmp_path / "words.csv", tmp_path / "out"
    words = [stem + end for stem in ("house", "garden", "winter") for end in ("", "s", "y", "er", "ed")]
    data.write_text("word,kind\n" + "".join(f"{word},k{k // 10}\n" for k, word in enumerate(words)))
    options = ("--column", "word", "--target", "kind", "--target-kind", "none", "--perplexity", "3", "-o", out)
    code, _, err = run("map", data, "--compare", "edit", *options)
    assert code == 0, err
    assert PrisMap.load(out / "model.prismap").map_.rows.tolist() == words
    new = tmp_path / "new.csv"
    new.write_text("id,word\n1,wintered\n2,houses\n")
    code, _, err = run("apply", out, new, "-o", tmp_path / "placed.csv")
    assert code == 0, err
    placed = np.genfromtxt(tmp_path / "placed.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    m = PrisMap.load(out / "model.prismap")
    np.testing.assert_allclose(np.column_stack([placed["x"], placed["y"]]), m.transform(["wintered", "houses"]))
    (tmp_path / "other.csv").write_text("length\n8\n")
    code, _, err = run("apply", out, tmp_path / "other.csv", "-o", tmp_path / "no.csv")
    assert code == 2
    assert "column 'word' is not in" in err


def test_json_lines_hold_series(run, tmp_path):
    data, out = tmp_path / "series.jsonl", tmp_path / "out"
    series = [[float(np.sin(t / (1 + k % 3))) for t in range(12)] for k in range(12)]
    data.write_text("".join(json.dumps({"series": one}) + "\n" for one in series))
    code, _, err = run("map", data, "--compare", "dtw", "-o", out, "--perplexity", "3")
    assert code == 0, err
    assert PrisMap.load(out / "model.prismap").target_ == "none"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--compare", "nothing"), "--compare 'nothing' is not known; there are edit"),
        (("--labels", "labels.csv"), "name their comparison with --compare"),
        (("--compare", "edit", "--labels", "other.csv"), "names none of the objects: they are called p0, p1, p2"),
        (("--compare", "edit", "--labels", "single.csv"), "a column of names and a column of labels; got 1"),
    ],
)
def test_mistakes_end_in_one_line(refused, proteins, tmp_path, options, words):
    (tmp_path / "other.csv").write_text("name,family\na,b\nc,d\n")
    (tmp_path / "single.csv").write_text("name\na\nc\n")
    paths = [tmp_path / word if word.endswith(".csv") else word for word in options]
    assert words in refused("map", proteins[0], *paths, "-o", tmp_path / "out")
    assert tree(tmp_path)


def test_a_table_needs_the_name_of_its_column(refused, tmp_path):
    (tmp_path / "words.csv").write_text("word,kind\na,b\nc,d\n")
    assert "--column names a column of text" in refused(
        "map", tmp_path / "words.csv", "--compare", "edit", "-o", tmp_path / "out"
    )
