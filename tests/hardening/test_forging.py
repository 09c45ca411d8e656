"""Model files from anyone: bound by a digest, checked array against array, no larger than they say, never a crash."""

import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hardening import forging
from prismap import PrisMap
from prismap.bundle import check_sparse, read_bundle, write_bundle
from prismap.exceptions import FileFormatError, InputError
from prismap.map._params_json import from_spec, to_spec
from prismap.map._stored import check_stored, load_bytes
from prismap.metrics import FisherMetric

TESTS = Path(__file__).parent.parent
BUNDLES = forging.golden_bundles()
#: Optional packages that write the files of a kind.
NEEDED = {
    "garbling": ("openpyxl",), "garbling_cells": ("anndata",), "garbling_skops": ("skops.io",),
    "garbling_onnx": ("onnx", "onnxruntime"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "n_cases"),
    [
        ("forging", 1000), ("forging_reports", 120), ("forging_pages", 200), ("forging_states", 30),
        ("forging_caches", 60), ("garbling", 420), ("garbling_cells", 30), ("garbling_skops", 40),
        ("garbling_onnx", 30), ("asking", 300),
    ],
    ids=["models", "reports", "pages", "states", "caches", "tables", "cells", "skops", "onnx", "requests"],
)  # fmt: skip
@pytest.mark.linux
def test_what_is_forged_damaged_or_odd_is_refused_or_used(tmp_path, kind, n_cases):
    """In a process of its own, which must live to the end; the case that ends it is in a file."""
    for package in NEEDED.get(kind, ()):
        pytest.importorskip(package)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", f"hardening.{kind}", str(tmp_path), "0", str(n_cases)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=500)
    assert done.returncode == 0, f"case {(tmp_path / 'case').read_text()}: {done.returncode} {done.stderr[-2000:]}"
    *wrong, last = (json.loads(line) for line in done.stdout.splitlines())
    assert wrong == []
    # Neither is everything let in nor everything turned away.
    assert min(last["counts"]["refused"], last["counts"]["used"]) > n_cases / 20


def saved(tmp_path, name, header=None, **arrays):
    bundle = BUNDLES[name]
    path = tmp_path / "m.prismap"
    write_bundle(path, {**bundle.arrays, **arrays}, {**bundle.header, **(header or {})})
    return path


@pytest.mark.parametrize("name", sorted(BUNDLES))
def test_golden_maps_place_rows_as_they_did(name):
    with np.load(next(forging.GOLDEN.glob(f"*/{name}.npz"))) as known:
        rows = sp.csr_array(known["rows"]) if "sparse" in known else known["rows"]
        Y, far = PrisMap.load(next(forging.GOLDEN.glob(f"*/{name}.prismap"))).place(rows)
        np.testing.assert_allclose(Y, known["positions"], rtol=1e-4, atol=1e-4 * np.abs(known["positions"]).max())
        np.testing.assert_array_equal(far, known["far"])


# Sparse rows

SPARSE_FORGERIES = {
    "a column beyond": ("rows/indices", lambda a: np.where(np.arange(len(a)) == 7, 2**30, a)),
    "a column below": ("rows/indices", lambda a: np.where(np.arange(len(a)) == 7, -5, a)),
    "a pointer beyond": ("rows/indptr", lambda a: np.where(np.arange(len(a)) == 30, 2**30, a)),
    "a pointer below": ("rows/indptr", lambda a: np.where(np.arange(len(a)) == 30, -1000, a)),
    "a pointer back": ("rows/indptr", lambda a: np.where(np.arange(len(a)) == 30, a[29] - 1, a)),
    "a late start": ("rows/indptr", lambda a: np.maximum(a, 1)),
    "an early end": ("rows/indptr", lambda a: np.minimum(a, a[-1] - 1)),
    "too few values": ("rows/data", lambda a: a[:-1]),
    "too few columns": ("rows/indices", lambda a: a[:-1]),
    "fractions": ("rows/indices", lambda a: a + 0.5),
    "short numbers": ("rows/indptr", lambda a: a.astype(np.int8)),
    "not finite": ("rows/data", lambda a: np.where(np.arange(len(a)) == 7, np.inf, a)),
    "a shape of three": ("rows/shape", lambda a: np.array([*a, 1])),
    "a shape of fractions": ("rows/shape", lambda a: a + 0.5),
    "more rows": ("rows/shape", lambda a: a + [1, 0]),
    "fewer columns": ("rows/shape", lambda a: a - [0, 1]),
}


@pytest.mark.parametrize("forgery", sorted(SPARSE_FORGERIES))
def test_sparse_rows_are_checked_before_compiled_code_sees_them(tmp_path, forgery, monkeypatch):
    name, change = SPARSE_FORGERIES[forgery]
    path = saved(tmp_path, "sparse", **{name: change(BUNDLES["sparse"].arrays[name])})
    # Nothing may be built of them: such rows can end the process.
    monkeypatch.setattr("prismap.map._store.unpack_rows", lambda _: pytest.fail("rows were built of forged parts"))
    with pytest.raises(FileFormatError, match="is not a complete map"):
        PrisMap.load(path)


def test_good_sparse_parts_pass():
    rng = np.random.default_rng(0)
    for shape in ((5, 7), (1, 1), (3, 0), (40, 2)):
        rows = sp.random_array(shape, density=0.3, rng=rng, format="csr")
        check_sparse(rows.data, rows.indices, rows.indptr, shape)


# Arrays against each other


@pytest.mark.parametrize(
    ("name", "array", "value", "words"),
    [
        ("supervised", "nearest", lambda a: -a, "below zero"),
        ("supervised", "nearest", lambda a: a * np.inf, "not finite"),
        ("supervised", "nearest", lambda a: a[:7], "nearest has shape"),
        ("supervised", "fit_rows", lambda a: a + 1, "fit_rows holds other numbers"),
        ("supervised", "fit_rows", lambda a: a // 2, "names a row twice"),
        ("supervised", "metric/support", lambda a: a - 1, "metric/support holds other numbers"),
        ("supervised", "metric/folds", lambda a: a - 2, "metric/folds holds other numbers"),
        ("supervised", "metric/machine_landmarks", lambda a: a + 1, "machine_landmarks holds other numbers"),
        ("supervised", "metric/machine_coefficients", lambda a: a[:-1], "machine_coefficients has shape"),
        ("supervised", "metric/probabilities", lambda a: a[:, :2], "has shape"),
        ("supervised", "metric/bandwidth", lambda a: np.array([1.0, 2.0]), "metric/bandwidth has shape"),
        ("supervised", "target", lambda a: a + 1, "beyond the 3 it names"),
        ("supervised", "positions", lambda a: a.astype(np.float16), "holds float16 values"),
        ("real", "target", lambda a: a * np.inf, "target holds values that are not finite"),
        ("similarity", "fit_rows", lambda a: a + 3, "fit_rows"),
    ],
)
def test_each_array_must_go_with_the_others(tmp_path, name, array, value, words):
    path = saved(tmp_path, name, **{array: value(BUNDLES[name].arrays[array])})
    with pytest.raises(FileFormatError, match=words):
        PrisMap.load(path)


def test_landmarks_of_a_large_map_are_anchors(monkeypatch):
    """They are numbered among the anchors, not among the rows."""
    monkeypatch.setattr("prismap.map._stored.DENSE_ROWS", 50)
    header, arrays = BUNDLES["supervised"].header, dict(BUNDLES["supervised"].arrays)
    arrays["anchors"], arrays["nearest"] = np.arange(0, 60, 2), arrays["nearest"][::2]
    arrays["mapping/landmarks"] = np.arange(60) // 2
    check_stored(header, arrays)
    with pytest.raises(ValueError, match="mapping/landmarks holds other numbers than those of its 30 rows"):
        check_stored(header, {**arrays, "mapping/landmarks": np.arange(60)})
    with pytest.raises(ValueError, match="anchors holds other numbers"):
        check_stored(header, {**arrays, "anchors": arrays["anchors"] + 2})


@pytest.mark.parametrize("segments", [[2**60, 0], [0, 0], [-1, 0], [2, 2], [2], [[2, 0]]], ids=str)
def test_a_metric_has_few_sub_segments(segments):
    header, arrays = BUNDLES["parzen"].header, dict(BUNDLES["parzen"].arrays)
    check_stored(header, {**arrays, "metric/segments": np.array([8, 1])})
    with pytest.raises(ValueError, match="metric/segments"):
        check_stored(header, {**arrays, "metric/segments": np.array(segments)})


# Parameters


def nested(depth):
    """A vote by the metric of a vote by the metric of ..."""
    spec = "euclidean"
    for _ in range(depth):
        spec = {"class": "VoteMap", "params": {"metric": spec}}
    return spec


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"class": "os.system", "params": {"command": "true"}}, "names no estimator"),
        ({"class": "Pipeline", "params": {"steps": "x"}}, "names no estimator"),
        ({"class": ["TSNE"], "params": {}}, "names no estimator"),
        ({"class": "TSNE"}, "neither a plain value nor an estimator"),
        ({"class": "TSNE", "params": {}, "module": "os"}, "neither a plain value nor an estimator"),
        ({"class": "TSNE", "params": {"init": [1.0]}}, "init is neither a plain value nor an estimator"),
        ({"class": "FisherMetric", "params": {"n_segments": 10**9}}, "n_segments is 1000000000"),
        ({"class": "FisherMetric", "params": {"n_segments": float("nan")}}, "n_segments is nan"),
        (nested(5), "more than 4 estimators deep"),
    ],
)
def test_parameters_are_plain_or_known_estimators(spec, words):
    with pytest.raises(ValueError, match=words):
        from_spec(spec, "method")


def test_a_map_that_would_not_load_is_not_written():
    assert from_spec(to_spec(FisherMetric(n_segments=4096), "metric")).n_segments == 4096
    with pytest.raises(InputError, match="n_segments=5000 cannot be saved: a file holds at most 4096"):
        to_spec(FisherMetric(n_segments=5000), "metric")
    assert repr(from_spec(nested(4))) == repr(from_spec(to_spec(from_spec(nested(4)), "mapping")))


# One digest


def test_header_and_arrays_of_two_files_do_not_make_a_third(tmp_path):
    """The same shapes, so that nothing but the digest can tell."""
    one, other = tmp_path / "one.prismap", tmp_path / "other.prismap"
    arrays = {"positions": np.zeros((4, 2)), "nearest": np.ones(4)}
    write_bundle(one, arrays, {"kind": "a"})
    write_bundle(other, {**arrays, "positions": np.ones((4, 2))}, {"kind": "a"})
    with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
        content = {name: first.read(name) for name in first.namelist()}
        content["positions.npy"] = second.read("positions.npy")
    with zipfile.ZipFile(one, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    with pytest.raises(FileFormatError, match="SHA-256"):
        read_bundle(one)


def test_the_digest_is_the_one_the_page_describes(tmp_path):
    """docs/file_format.md: the header, then every array's entry in the order of the header."""
    import hashlib

    write_bundle(tmp_path / "m", {"b": np.arange(3), "a": np.array(["x"])}, {"k": 1})
    with zipfile.ZipFile(tmp_path / "m") as archive:
        names = archive.namelist()
        assert names == ["header.json", "b.npy", "a.npy", "sha256.txt"]
        whole = b"".join(archive.read(name) for name in names[:-1])
        assert archive.read("sha256.txt").decode() == hashlib.sha256(whole).hexdigest()


def test_a_file_without_a_digest_is_refused(tmp_path):
    write_bundle(tmp_path / "m", {"a": np.arange(3)})
    with zipfile.ZipFile(tmp_path / "m") as archive:
        content = {name: archive.read(name) for name in archive.namelist() if name != "sha256.txt"}
    with zipfile.ZipFile(tmp_path / "m", "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    with pytest.raises(FileFormatError, match="lists other arrays than it holds"):
        read_bundle(tmp_path / "m")


@pytest.mark.parametrize("version", [0, 2, None, "1"])
def test_a_file_rewritten_as_another_version_does_not_escape_its_digest(tmp_path, version):
    """Versions without a digest loaded parts of two maps."""
    path = saved(tmp_path, "supervised")
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist() if name != "sha256.txt"}
    header = json.loads(content["header.json"])
    content["header.json"] = json.dumps({**header, "version": version}).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    with pytest.raises(FileFormatError, match=f"format version {version!r}"):
        PrisMap.load(path)


# Memory


@pytest.mark.parametrize("name", sorted(BUNDLES))
def test_a_map_takes_no_more_memory_than_its_header_declares(tmp_path, name):
    """Ten times the golden rows: the law must hold as the number of rows grows."""
    arrays, header = dict(BUNDLES[name].arrays), dict(BUNDLES[name].header)
    forging.repeat_rows(arrays, header, 10)
    write_bundle(tmp_path / "m.prismap", arrays, header)
    with np.load(next(forging.GOLDEN.glob(f"*/{name}.npz"))) as known:
        rows = np.hstack([known["rows"][:3]] * (10 if header["params"]["data"] != "vectors" else 1))
        rows = sp.csr_array(rows) if "sparse" in known else rows
    forging.use(tmp_path / "m.prismap", rows)
    tracemalloc.start()
    try:
        found = forging.use(tmp_path / "m.prismap", rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == "used"
    assert peak < load_bytes(header, arrays)


def test_a_small_file_of_a_large_map_is_refused_before_it_is_rebuilt(tmp_path, monkeypatch):
    arrays, header = dict(BUNDLES["direct"].arrays), dict(BUNDLES["direct"].header)
    forging.repeat_rows(arrays, header, 10)
    write_bundle(tmp_path / "m.prismap", arrays, header)
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 10_000_000)
    monkeypatch.setattr("prismap.map._store._restore", lambda *_: pytest.fail("the map was rebuilt"))
    with pytest.raises(InputError, match=r"The map of 600 rows in .* would need .* GiB of memory"):
        PrisMap.load(tmp_path / "m.prismap")


def test_too_little_memory_on_the_way_is_one_line(tmp_path, monkeypatch):
    def no_room(*_):
        raise MemoryError

    path = saved(tmp_path, "supervised")
    monkeypatch.setattr("prismap.map._store._restore", no_room)
    with pytest.raises(InputError, match="needs more memory than there is left"):
        PrisMap.load(path)
    monkeypatch.setattr("prismap.bundle._archive._read_array", no_room)
    with pytest.raises(InputError, match="needs more memory than there is"):
        PrisMap.load(path)
