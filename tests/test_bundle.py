"""Files: bit-equal round trips, refusals with a reason, and nothing half-written under a final name."""

import io
import json
import os
import zipfile

import numpy as np
import pytest

from prismap import __version__
from prismap.bundle import _archive, map_writer, read_bundle, write_bundle, write_map, written_aside
from prismap.exceptions import FileFormatError, InputError, MissingExtraError


def some_arrays():
    rng = np.random.default_rng(0)
    return {
        "rows": rng.normal(size=(7, 3)),
        "metric/support": np.arange(5),
        "metric/weights.float32": rng.normal(size=4).astype(np.float32),
        "half": np.float16([1.5, np.nan, -np.inf]),
        "flags": np.array([True, False]),
        "classes": np.array(["weiß", "日本", "", "a" * 40]),
        "big_endian": np.array([1, 2], dtype=">i4"),
        "words_big_endian": np.array(["ab", "c"], dtype=">U2"),
        "complex": np.array([1 + 2j]),
        "scalar": np.array(3.5),
        "empty": np.empty((0, 4)),
        "no_text": np.array([], dtype=str),
        "fortran": np.asfortranarray(rng.normal(size=(3, 4))),
        "strided": rng.normal(size=(6, 4))[::2, ::-1],
        "bytes": np.uint8([0, 255]),
    }


HEADER = {"kind": "map", "nested": {"list": [1, 2.5, None, "ü"]}, "seed": 2**40}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "m.prismap"
    write_bundle(path, some_arrays(), HEADER)
    return path


def assert_same_arrays(found, wanted):
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype, name
        assert found[name].shape == array.shape, name
        assert found[name].tobytes() == np.asarray(array, order="C").tobytes(), name
        assert found[name].flags.writeable


def repack(path, change):
    """The archive at `path` again, with `change(name, bytes) -> bytes | None` applied to every entry."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            changed = change(name, data)
            if changed is not None:
                archive.writestr(name, changed)


def change_header(path, **changes):
    def change(name, data):
        return json.dumps({**json.loads(data), **changes}).encode() if name == "header.json" else data

    repack(path, change)


def header_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("header.json"))


def test_round_trip_is_bit_equal(saved):
    read = read_bundle(saved)
    assert_same_arrays(read.arrays, some_arrays())
    assert read.header == HEADER
    assert (read.library, read.version) == (__version__, _archive.FORMAT_VERSION)


def test_equal_content_gives_equal_bytes(saved, tmp_path):
    again = tmp_path / "again.prismap"
    read = read_bundle(saved)
    write_bundle(again, read.arrays, read.header)
    assert again.read_bytes() == saved.read_bytes()


def test_numpy_opens_a_bundle_without_pickle(saved):
    with np.load(saved, allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["metric/support"], np.arange(5))


def test_numpy_values_in_the_header_become_json(tmp_path):
    write_bundle(
        tmp_path / "m", {}, {"n": np.int64(3), "x": np.float32(0.5), "list": np.arange(2), "b": np.bool_(True)}
    )
    assert read_bundle(tmp_path / "m").header == {"n": 3, "x": 0.5, "list": [0, 1], "b": True}
    assert read_bundle(tmp_path / "m").arrays == {}


@pytest.mark.parametrize(
    ("arrays", "header", "message"),
    [
        ({"a": np.array([None, 1])}, {}, "array 'a' has dtype object"),
        ({"a": np.array(["2020"], dtype="M8[D]")}, {}, "dtype datetime64"),
        ({"a": np.zeros(2, dtype=[("x", float)])}, {}, "only numbers, booleans and text"),
        ({"../a": np.zeros(2)}, {}, "cannot name an array"),
        ({"/a": np.zeros(2)}, {}, "cannot name an array"),
        ({"": np.zeros(2)}, {}, "cannot name an array"),
        ({"a": np.zeros(2)}, {"model": object()}, "JSON cannot store"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_leaves_nothing(tmp_path, arrays, header, message):
    with pytest.raises(InputError, match=message):
        write_bundle(tmp_path / "m.prismap", arrays, header)
    assert os.listdir(tmp_path) == []


def test_every_truncation_is_refused(saved):
    data = saved.read_bytes()
    for length in [*range(0, len(data), 97), len(data) - 1]:
        saved.write_bytes(data[:length])
        with pytest.raises(FileFormatError):
            read_bundle(saved)


def test_a_flipped_byte_is_refused_or_harmless(tmp_path):
    saved = tmp_path / "m.prismap"
    arrays = {name: some_arrays()[name] for name in ("rows", "flags", "classes")}
    write_bundle(saved, arrays, HEADER)
    data = saved.read_bytes()
    refused = 0
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= 0xFF
        saved.write_bytes(flipped)
        try:
            read = read_bundle(saved)
        except FileFormatError:
            refused += 1
        else:  # dates and other marks of the archive that no reader looks at
            assert_same_arrays(read.arrays, arrays)
            assert read.header == HEADER
    assert refused > 0.8 * len(data)


def test_random_bytes_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "foreign"
    rng = np.random.default_rng(0)
    np.savez(path, a=np.zeros(3))
    contents = [b"", b"PK\x03\x04", b"hello,world\n1,2\n", rng.bytes(5000), (tmp_path / "foreign.npz").read_bytes()]
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match="foreign (is damaged, or )?was not written by prismap"):
            read_bundle(path)


@pytest.mark.parametrize("version", [2, 0, "1", None])
def test_another_version_is_refused_with_the_way_out(saved, version):
    change_header(saved, version=version, library="9.9")
    message = rf"format version {version!r} \(prismap 9.9\).*reads version 1. Update prismap"
    with pytest.raises(FileFormatError, match=message):
        read_bundle(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "not written by prismap"),
        ({"arrays": None}, "no valid 'arrays'"),
        ({"arrays": {}}, "lists other arrays"),
        ({"header": [1]}, "no valid 'header'"),
        ({"library": None}, "no valid 'library'"),
    ],
)
def test_a_wrong_header_is_refused(saved, changes, message):
    change_header(saved, **changes)
    with pytest.raises(FileFormatError, match=message):
        read_bundle(saved)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"dtype": "|O", "shape": [5]}, "dtype '|O'"),
        ({"dtype": "<f8", "shape": [10**15]}, "does not have the"),
        ({"dtype": "<i4", "shape": [5]}, "is not as its header declares"),
        ({"dtype": "<f8", "shape": [5]}, "is not as its header declares"),
        ({"dtype": "<i8", "shape": [5, 1]}, "is not as its header declares"),
        ({"dtype": "<i8", "shape": [-5]}, "impossible shape"),
        ({"dtype": "<i8", "shape": [True]}, "impossible shape"),
        ({"dtype": "<i8", "shape": [1] * 40}, "impossible shape"),
        ({"dtype": 8, "shape": [5]}, "damaged"),
        ({"shape": [5]}, "damaged"),
        ("<i8", "damaged"),
    ],
)
def test_declared_sizes_and_dtypes_are_checked(saved, about, message):
    arrays = header_of(saved)["arrays"]
    change_header(saved, arrays={**arrays, "metric/support": about})
    with pytest.raises(FileFormatError, match=message):
        read_bundle(saved)


def npy_bytes(array, allow_pickle=False):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def test_a_pickled_array_is_never_unpickled(saved):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("the file was unpickled",))

    trap = npy_bytes(np.array([Trap()], dtype=object), allow_pickle=True)
    repack(saved, lambda name, data: trap if name == "metric/support.npy" else data)
    with pytest.raises(FileFormatError):
        read_bundle(saved)


def test_an_npy_header_that_claims_more_than_its_bytes_allocates_nothing(saved):
    honest = npy_bytes(np.arange(5))
    lying = honest.replace(b"(5,), }         ", b"(5000000000,), }")
    assert len(lying) == len(honest)
    assert lying != honest
    repack(saved, lambda name, data: lying if name == "metric/support.npy" else data)
    with pytest.raises(FileFormatError):
        read_bundle(saved)


def test_bytes_that_are_no_booleans_or_text_are_refused(saved):
    data = saved.read_bytes()
    for name, array in (("flags", np.uint8([7, 0])), ("classes", np.full(160, 2**31, np.uint32))):
        saved.write_bytes(data)
        honest = npy_bytes(some_arrays()[name])
        forged = honest[: -array.nbytes] + array.tobytes()
        repack(saved, lambda entry, data, name=name, forged=forged: forged if entry == f"{name}.npy" else data)
        with pytest.raises(FileFormatError, match="damaged"):
            read_bundle(saved)


def test_compressed_entries_are_refused_before_they_are_read(saved):
    with zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.npy", b"\0" * 10**6)
    with pytest.raises(FileFormatError, match=r"compressed or encrypted entry \(bomb.npy\)"):
        read_bundle(saved)


def test_overlapping_entries_are_refused(saved):
    """Directory entries that share bytes announce more than the file holds."""
    with zipfile.ZipFile(saved, "a") as archive:
        big = archive.getinfo("classes.npy")
        for copy in range(40):
            twin = zipfile.ZipInfo(f"copy{copy}.npy")
            twin.header_offset, twin.CRC, twin.file_size, twin.compress_size = (
                big.header_offset, big.CRC, big.file_size, big.compress_size,
            )  # fmt: skip
            archive.filelist.append(twin)
            archive.NameToInfo[twin.filename] = twin
        archive._didModify = True
    with pytest.raises(FileFormatError, match="announces more data"):
        read_bundle(saved)


def test_double_entries_are_refused(saved):
    with zipfile.ZipFile(saved, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("scalar.npy", npy_bytes(np.array(4.5)))
    with pytest.raises(FileFormatError, match="occur twice"):
        read_bundle(saved)


def test_the_size_limit_is_checked_first(saved):
    with pytest.raises(FileFormatError, match="more than max_bytes=100"):
        read_bundle(saved, max_bytes=100)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(InputError, match="there is no file .*nothing"):
        read_bundle(tmp_path / "nothing")
    with pytest.raises(InputError, match="is a folder"):
        read_bundle(tmp_path)
    with pytest.raises(InputError, match="is a folder"):
        write_bundle(tmp_path, {})
    with pytest.raises(InputError, match="no folder .*missing"):
        write_bundle(tmp_path / "missing" / "m", {})


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(saved, monkeypatch, error):
    before = saved.read_bytes()
    calls = []

    def interrupted(file, array, **options):
        calls.append(file.write(b"half of it"))
        if len(calls) == 3:
            raise error

    monkeypatch.setattr(np.lib.format, "write_array", interrupted)
    with pytest.raises(error):
        write_bundle(saved, some_arrays(), HEADER)
    assert len(calls) == 3
    assert os.listdir(saved.parent) == [saved.name]
    assert saved.read_bytes() == before


def test_aside_keeps_the_ending_and_usual_permissions(tmp_path):
    with written_aside(tmp_path / "map.png") as aside:
        aside.write_bytes(b"x")
        assert aside.suffix == ".png"
        assert aside.parent == tmp_path
        assert not (tmp_path / "map.png").exists()
    (tmp_path / "plain").write_bytes(b"x")
    assert (tmp_path / "map.png").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert sorted(os.listdir(tmp_path)) == ["map.png", "plain"]


MAP = {
    "x": np.array([0.1, 2.5]),
    "y": np.array([-1.0, np.nan]),
    "target": np.array(["a, b", None], dtype=object),
    "split": np.array(["fit", "placed"]),
    "far": np.array([False, True]),
}


def test_a_map_is_written_as_parquet_in_batches(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    with map_writer(tmp_path / "map.parquet") as write:
        write({**MAP, "target": np.array([None, None], dtype=object)})
        write(MAP)
    table = pq.read_table(tmp_path / "map.parquet").to_pydict()
    assert table == {
        "x": [0.1, 2.5] * 2,
        "y": [-1.0, None] * 2,
        "target": [None, None, "a, b", None],
        "split": ["fit", "placed"] * 2,
        "far": [False, True] * 2,
    }


def test_a_map_is_written_as_csv_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    write_map(tmp_path / "map.csv", MAP)
    lines = (tmp_path / "map.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ["x,y,target,split,far", '0.1,-1.0,"a, b",fit,False', "2.5,,,placed,True"]
    with pytest.raises(MissingExtraError, match=r"pip install 'prismap\[io\]'"):
        write_map(tmp_path / "map.parquet", MAP)
    assert os.listdir(tmp_path) == ["map.csv"]


@pytest.mark.parametrize("name", ["map.csv", "map.parquet"])
def test_an_interrupted_map_leaves_nothing(tmp_path, name):
    def batches():
        yield MAP
        raise KeyboardInterrupt

    def write_all():
        with map_writer(tmp_path / name) as write:
            for batch in batches():
                write(batch)

    with pytest.raises(KeyboardInterrupt):
        write_all()
    assert os.listdir(tmp_path) == []
