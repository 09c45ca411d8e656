"""Files from anywhere: read, or refused in words and in no time. Damage by fixed seeds, and forgeries by hand.

(tests/test_bundle.py and tests/test_tables.py flip every byte and cut at every length; here damage comes in lumps, and
forged files are whole archives with the wrong things inside.)
"""

import time
import zipfile

import numpy as np
import pytest

from prismap import PrisMap
from prismap.bundle import read_bundle, write_bundle
from prismap.exceptions import InputError
from prismap.metrics import FisherMetric
from prismap.tables import Roles, read_batches, read_table

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

#: Seconds a case may take; most take milliseconds, but the machine may be busy.
LIMIT = 5.0
X = np.random.default_rng(0).normal(size=(20, 3))

pytestmark = pytest.mark.filterwarnings("ignore:::prismap", "ignore::RuntimeWarning")


def outcome(read, *args):
    """What was read, or None for a stated refusal; anything else that is raised fails the test."""
    start = time.perf_counter()
    try:
        return read(*args)
    except InputError as error:
        assert len(str(error)) > 20  # noqa: PT017
        return None
    finally:
        assert time.perf_counter() - start < LIMIT


def damaged(data, rng):
    """Bytes with a lump overwritten, cut out, doubled, or put in."""
    start, length = int(rng.integers(len(data))), int(rng.integers(1, 64))
    middle = [
        rng.bytes(length),
        b"",
        2 * data[start : start + length],
        rng.bytes(length) + data[start : start + length],
    ]
    return data[:start] + middle[rng.integers(4)] + data[start + length :]


# Maps


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    """Saved maps by the kind of their target."""
    folder = tmp_path_factory.mktemp("maps")
    y = (X[:, 0] > 0).astype(int)
    for kind, options, target in (
        ("parzen", {"metric": FisherMetric(posterior="parzen", perplexity=5)}, y),
        ("lssvm", {"metric": FisherMetric(posterior="lssvm", perplexity=5)}, y),
        ("mean", {}, (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)),
        ("real", {}, X[:, 0]),
    ):
        options |= {"supervision": 0.8, "mapping": "fisher"}
        PrisMap("mds", perplexity=5, random_state=0, **options).fit(X, target).save(folder / f"{kind}.prismap")
    return folder


def use(path):
    """Load a map and place rows on it."""
    Y = PrisMap.load(path).transform(X[:3] + 0.1)
    assert np.isfinite(Y).all()
    return Y


@pytest.mark.parametrize("seed", range(20))
def test_damaged_maps_are_refused_or_whole(maps, tmp_path, seed):
    data = (maps / "parzen.prismap").read_bytes()
    path = tmp_path / "m.prismap"
    path.write_bytes(damaged(data, np.random.default_rng(seed)))
    found = outcome(use, path)
    assert found is None or np.array_equal(found, use(maps / "parzen.prismap"))


FORGERIES = {
    "half": lambda a: a[: len(a) // 2] if a.ndim else a,
    "empty": lambda a: a[:0] if a.ndim else a,
    "doubled": lambda a: np.concatenate([a, a]) if a.ndim else a,
    "another shape": lambda a: a.reshape(-1) if a.ndim > 1 else a[..., None],
    "text": lambda a: np.full(a.shape, "x"),
    "not a number": lambda a: np.full(a.shape, np.nan),
    "complex": lambda a: np.full(a.shape, 1j),
    "zero": np.zeros_like,
    "beyond": lambda a: np.full(a.shape, 2**60),
}


@pytest.mark.parametrize("forgery", sorted(FORGERIES))
@pytest.mark.parametrize("kind", ["lssvm", "mean", "real"])
def test_forged_arrays_are_refused_or_usable(maps, tmp_path, kind, forgery):
    """Every array in turn is another one, in an archive without a fault: what loads must also place rows."""
    bundle = read_bundle(maps / f"{kind}.prismap")
    refused = 0
    for name, array in bundle.arrays.items():
        write_bundle(tmp_path / "m.prismap", {**bundle.arrays, name: FORGERIES[forgery](array)}, bundle.header)
        refused += outcome(use, tmp_path / "m.prismap") is None
    assert refused >= 3


@pytest.mark.parametrize("value", [None, 3, "x", {"a": 1}], ids=repr)
def test_forged_headers_are_refused_or_usable(maps, tmp_path, value):
    bundle = read_bundle(maps / "parzen.prismap")
    path = tmp_path / "m.prismap"
    for key in bundle.header:
        write_bundle(path, bundle.arrays, {**bundle.header, key: value})
        outcome(use, path)
    for key in bundle.header["params"]:
        write_bundle(path, bundle.arrays, {**bundle.header, "params": {**bundle.header["params"], key: value}})
        outcome(use, path)


@pytest.mark.parametrize("missing", ["positions", "rows", "target", "metric/support", "mapping/landmarks"])
def test_a_map_without_an_array_is_refused(maps, tmp_path, missing):
    bundle = read_bundle(maps / "lssvm.prismap")
    arrays = {name: array for name, array in bundle.arrays.items() if name != missing}
    write_bundle(tmp_path / "m.prismap", arrays, bundle.header)
    with pytest.raises(InputError, match="is not a complete map"):
        PrisMap.load(tmp_path / "m.prismap")


# Tables


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """One table in every format."""
    folder = tmp_path_factory.mktemp("tables")
    words = ["a", "b, c", 'd"e', "ü"] * 5
    table = pa.table({"p": X[:, 0], "q": X[:, 1], "word": words})
    pq.write_table(table, folder / "t.parquet")
    np.savez_compressed(folder / "t.npz", X=X, y=np.arange(20) % 2)
    np.save(folder / "t.npy", X)
    quoted = ['"' + word.replace('"', '""') + '"' for word in words]
    for ending, mark in (("csv", ","), ("tsv", "\t")):
        lines = [
            mark.join(("p", "q", "word")),
            *(mark.join((str(a), str(b), w)) for (a, b, _), w in zip(X, quoted, strict=True)),
        ]
        (folder / f"t.{ending}").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.npz", "t.npy", "t.parquet"])
def test_tables_with_lumps_of_damage_are_read_or_refused(tables, tmp_path, name):
    data, path = (tables / name).read_bytes(), tmp_path / name
    for seed in range(12):
        path.write_bytes(damaged(data, np.random.default_rng(seed)))
        table = outcome(read_table, path)
        assert table is None or table.n_rows > 0
        outcome(lambda: list(read_batches(path, ["p", "q"], Roles(), n_rows=7)))


TEXTS = {
    "one name many times": b",".join([b"a"] * 50_000) + b"\n" + b",".join([b"1"] * 50_000),
    "a field without end": b'a,b\n"' + b"1,2\n" * 50_000,
    "a name without end": b'"a,b\n' + b"1,2\n" * 50_000,
    "a very long field": b"a,b\n" + b"x" * 2_000_000 + b",1\n2,3\n",
    "a very long line": b"a,b\n" + b"1," * 500_000 + b"\n",
    "only quotes": b"a,b\n" + b'"' * 9_999 + b",1\n",
    "quotes inside": b'a,b\n1"2,3\n"4"5,6\n',
    "latin-1": "a,b\nä,1\nö,2\n".encode("latin-1"),
    "utf-16 without its mark": "a,b\n1,2\n".encode("utf-16-le"),
    "half a character": "a,b\n1,2\n".encode("utf-16")[:-1],
    "surrogates": b"a,b\n\xed\xa0\x80,1\n2,3\n",
    "a zero byte late": b"a,b\n" + b"1,2\n" * 30_000 + b"1,\0\n",
    "bytes": np.random.default_rng(0).bytes(3000),
    "bytes without zeros": np.random.default_rng(1).integers(1, 256, 3000, dtype=np.uint8).tobytes(),
    "blank lines": b"\n \n\t\n",
    "a mark only": b"\xef\xbb\xbf",
    "names only": b"a,b\n",
    "ragged": b"a,b\n1\n1,2,3\n",
    "commas only": b"," * 500 + b"\n" + b"," * 500,
    "numbers beyond all": b"a,b\n1e400,-1e999\n1,2\n" + b"9" * 4000 + b",3\n",
}


@pytest.mark.parametrize("text", sorted(TEXTS))
def test_odd_text_is_read_or_refused(tmp_path, text):
    for name in ("t.csv", "t.tsv"):
        path = tmp_path / name
        path.write_bytes(TEXTS[text])
        outcome(read_table, path)
        outcome(lambda path=path: list(read_batches(path, ["a", "b"], Roles(target="a"))))


def npy(shape, descr="<f8", body=b""):
    """An npy file with any header."""
    head = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode("latin-1") + body


CLAIMS = {
    "more than memory": npy("(100000000000, 100)"),
    "more than counts": npy("(9223372036854775807, 9223372036854775807)"),
    "columns without rows": npy("(0, 1000000000000)"),
    "rows without columns": npy("(1000000000000, 0)"),
    "text of no length": npy("(100000000, 100000000)", "<U0"),
    "values of no length": npy("(100000000, 100000000)", "|V0"),
    "long text": npy("(2, 3)", "<U500000000", b"\0" * 48),
    "less than nothing": npy("(-5, -5)", body=b"\0" * 200),
    "a fraction": npy("(2.5, 3)", body=b"\0" * 48),
    "code": npy("__import__('os').abort()", body=b"\0" * 48),
    "brackets": npy("(" * 200 + ")" * 200),
    "objects": npy("(2, 3)", "|O", b"\0" * 48),
    "a record": npy("(2,)", [("a", "<f8")], b"\0" * 16),
    "a long header": b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little") + b"x" * 100,
    "no version": b"\x93NUMPY\x09\x00" + b"\0" * 100,
}


@pytest.mark.parametrize("claim", sorted(CLAIMS))
def test_arrays_that_claim_what_they_are_not_are_refused(tmp_path, claim):
    (tmp_path / "t.npy").write_bytes(CLAIMS[claim])
    assert outcome(read_table, tmp_path / "t.npy") is None
    for part in ("X", "y", "feature_names", "kind"):
        parts = {"X": npy("(2, 3)", body=np.arange(6.0).tobytes()), part: CLAIMS[claim]}
        with zipfile.ZipFile(tmp_path / "t.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in parts.items():
                archive.writestr(f"{name}.npy", content)
        assert outcome(read_table, tmp_path / "t.npz") is None or part == "kind"


def test_an_archive_that_unpacks_to_more_than_memory_is_refused_unread(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "t.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", npy("(1000000, 4)", body=bytes(32_000_000)))
    assert (tmp_path / "t.npz").stat().st_size < 100_000
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 10_000_000)
    with pytest.raises(InputError, match=r"would need 0\.1 GiB of memory"):
        read_table(tmp_path / "t.npz")
