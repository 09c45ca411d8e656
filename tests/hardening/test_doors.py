"""Files and models of others: what they can do to a reader is over in seconds, costs what is promised, and is said."""

import gzip
import json
import time
import tracemalloc
import zipfile
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp

from hardening import glass_work
from prismap._util import glass
from prismap._util.glass import behind_glass
from prismap.exceptions import FileFormatError, InputError
from prismap.tables import Roles, load_cells, read_batches, read_obsm, read_table

# Glass


def through_glass(work, *args, seconds=5.0, n_bytes=2**28):
    return behind_glass(work, *args, what="t.h5ad", seconds=seconds, n_bytes=n_bytes)


def test_values_come_through_one_by_one():
    assert [len(value) for value in through_glass(glass_work.numbers, 3)] == [0, 1, 2]
    assert [len(value) for value in islice(through_glass(glass_work.numbers, 10**9), 2)] == [0, 1]


@pytest.mark.posix
def test_a_child_that_ends_costs_one_line():
    values = through_glass(glass_work.abort)
    assert next(values) == 1
    with pytest.raises(FileFormatError, match=r"t.h5ad cannot be read: the process that read it ended \(SIGABRT\)"):
        next(values)


def test_a_child_that_goes_round_in_circles_is_ended():
    values = through_glass(glass_work.circles, seconds=1.0)
    assert next(values) == 1
    begin = time.perf_counter()
    with pytest.raises(FileFormatError, match="took more than 1 seconds"):
        next(values)
    assert time.perf_counter() - begin < 10


@pytest.mark.linux
def test_a_child_takes_no_more_than_it_may():
    assert list(through_glass(glass_work.greed, 2**20, n_bytes=2**20)) == [2**20]
    with pytest.raises(InputError, match="more memory than it may take"):
        list(through_glass(glass_work.greed, 2**30, n_bytes=2**20))


def test_errors_come_through_in_words():
    with pytest.raises(InputError, match="not good enough"):
        list(through_glass(glass_work.refuse))
    with pytest.raises(RuntimeError, match="odd"):
        list(through_glass(glass_work.fail))


def test_a_child_that_is_stuck_before_it_reads_its_task_is_ended(tmp_path, monkeypatch):
    """A task that is larger than a pipe was written without a limit of time."""
    (tmp_path / "prismap.py").write_text("import time\ntime.sleep(20)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(glass, "START", 1.0)
    with pytest.raises(FileFormatError, match="t.h5ad cannot be read: it took more than 1 seconds"):
        list(through_glass(glass_work.greed, bytes(2**20)))


# h5ad


@pytest.fixture
def cells(tmp_path):
    """A small file of cells, and the means to forge it."""
    anndata = pytest.importorskip("anndata")
    h5py = pytest.importorskip("h5py")
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(0.5, size=(30, 4)).astype(np.float32))
    whole = anndata.AnnData(X, obsm={"X_pca": rng.normal(size=(30, 2))}, layers={"raw": X.copy()})
    whole.obs["kind"] = ["a", "b"] * 15
    path = tmp_path / "t.h5ad"
    whole.write_h5ad(path)

    def forge(change):
        with h5py.File(path, "r+") as file:
            change(file)
        return path

    return forge


def put(name, place, value):
    def change(file):
        values = file[name][:]
        values[place] = value
        file[name][:] = values

    return change


@pytest.mark.parametrize("index", [5, -1, 10**8])
def test_an_index_that_leads_out_of_the_matrix_is_refused(cells, index):
    """5 of 4 columns gave a map of other data, and 10^8 ended the process."""
    path = cells(put("X/indices", 0, index))
    with pytest.raises(InputError, match="damaged|cannot be read"):
        read_table(path, Roles(target="kind"))


@pytest.mark.parametrize(("name", "place", "value"), [("indptr", 3, 2**30), ("indptr", 4, 0), ("indices", 0, 7)])
def test_forged_sparse_layers_are_refused_by_every_reader(cells, name, place, value):
    path = cells(put(f"layers/raw/{name}", place, value))
    with pytest.raises(InputError, match="damaged|cannot be read"):
        list(read_batches(path, None, Roles(matrix="raw"), n_rows=7))
    with pytest.raises(InputError, match="damaged|cannot be read"):
        load_cells(path)
    assert read_obsm(path, ["X_pca"])["X_pca"].shape == (30, 2)


def test_a_small_file_of_many_cells_is_refused_unread(cells):
    """31 kB that stand for 3.2 GB: no value of the matrix is stored."""

    def grow(file):
        for name in ("X", "layers", "obsm", "obs/kind"):
            del file[name]
        file.create_dataset("X", (10**5, 4000), chunks=(1000, 100), dtype="f4", fillvalue=1.0)
        file["X"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        for name, n in (("obs", 10**5), ("var", 4000)):
            about = dict(file[name]["_index"].attrs)
            del file[name]["_index"]
            file[name].create_dataset("_index", data=np.arange(n).astype("S6"), compression="gzip")
            file[name]["_index"].attrs.update(about)
        file["obs"].attrs["column-order"] = np.array([], dtype="S1")

    path = cells(grow)
    begin = time.perf_counter()
    with pytest.raises(InputError, match="more than 1,000 times the"):
        read_table(path)
    assert time.perf_counter() - begin < 60


# skops


def forest(tmp_path, change=None, at=(0, "nodes", "feature"), value=None):
    """A forest in a skops file, with one number of its first tree changed."""
    sio = pytest.importorskip("skops.io")
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = RandomForestClassifier(3, random_state=0).fit(X, X[:, 0] > 0)
    if change is not None:
        tree = model.estimators_[0].tree_
        state = tree.__getstate__()
        change(state)
        tree.__setstate__(state)
    sio.dump(model, tmp_path / "m.skops")
    return tmp_path / "m.skops", model, X


def in_nodes(field, value):
    def change(state):
        state["nodes"][field][0] = value

    return change


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("feature", 10**9, "a column that no row has"),
        ("feature", -1, "a column that no row has"),
        ("left_child", 10**9, "paths that lead nowhere"),
        ("right_child", -7, "paths that lead nowhere"),
        ("left_child", 0, "paths that lead nowhere"),
    ],
)
def test_a_tree_that_leads_out_of_itself_is_refused(tmp_path, field, value, words):
    """Each of them ended the process, or had no end, at the first row."""
    from prismap.cli.models import load_trusted

    path, *_ = forest(tmp_path, in_nodes(field, value))
    with pytest.raises(FileFormatError, match=words):
        load_trusted(path, [])
    path, model, X = forest(tmp_path)
    np.testing.assert_array_equal(load_trusted(path, []).predict(X), model.predict(X))


def test_the_compiled_parts_of_all_kinds_of_models_are_found_and_good():
    from sklearn import ensemble, neighbors, pipeline, preprocessing, svm, tree

    from prismap.cli.models import CHECKS, compiled_parts

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    small = tree.DecisionTreeClassifier(max_depth=3)
    for model, n_parts in (
        (small, 1),
        (ensemble.GradientBoostingClassifier(n_estimators=2), 6),
        (ensemble.HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5), 6),
        (ensemble.BaggingClassifier(small, n_estimators=2, max_features=0.5), 3),
        (neighbors.KNeighborsClassifier(algorithm="kd_tree", leaf_size=5), 1),
        (pipeline.make_pipeline(preprocessing.PolynomialFeatures(), ensemble.RandomForestClassifier(2)), 2),
        (svm.SVC(), 1),
        (svm.SVR(), 1),
    ):
        parts = list(compiled_parts(model.fit(X, y)))
        for part, width in parts:
            CHECKS[type(part).__name__](part, width)
        assert len(parts) >= n_parts


def test_forged_machines_and_search_trees_are_refused():
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    from prismap.cli.models import check_machine, check_search_tree

    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 2
    machine = SVC().fit(X, y)
    machine._n_support = machine._n_support + 1000
    with pytest.raises(ValueError, match="counts its vectors wrongly"):
        check_machine(machine, 4)
    tree = KNeighborsClassifier(algorithm="kd_tree", leaf_size=5).fit(X, y)._tree
    check_search_tree(tree, 4)
    for part, place, value, words in ((1, 0, 10**8, "names rows"), (2, ("idx_end", 0), 10**8, "names rows"),
                                      (2, ("is_leaf", slice(None)), 0, "lead nowhere")):  # fmt: skip
        state = list(tree.__getstate__())
        array = np.array(state[part])
        (array[place[0]] if isinstance(place, tuple) else array)[place[1] if isinstance(place, tuple) else place] = (
            value
        )
        state[part] = array
        forged = type(tree).__new__(type(tree))
        forged.__setstate__(tuple(state))
        with pytest.raises(ValueError, match=words):
            check_search_tree(forged, 4)


# ONNX


def endless(path):
    """A graph that counts up for as long as it may."""
    onnx = pytest.importorskip("onnx")
    helper, FLOAT, INT64, BOOL = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("Relu", ["x"], ["x_out"])], "body",
        [value("i", INT64, []), value("go", BOOL, []), value("x", FLOAT, None)],
        [value("go_on", BOOL, []), value("x_out", FLOAT, None)],
    )  # fmt: skip
    yes = helper.make_tensor("yes", BOOL, [], [True])
    most = helper.make_tensor("most", INT64, [], [2**62])
    loop = helper.make_node("Loop", ["most", "yes", "rows"], ["out"], body=body)
    graph = helper.make_graph(
        [loop], "g", [value("rows", FLOAT, [None, 3])], [value("out", FLOAT, [None, 3])], [yes, most]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return path


def test_a_graph_without_an_end_is_ended(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    from prismap.inspection import _onnx_model as module

    model = module.OnnxModel.from_file(endless(tmp_path / "m.onnx"))
    monkeypatch.setattr(module, "SECONDS", 0.5)
    begin = time.perf_counter()
    with pytest.raises(InputError, match="did not end within"):
        model.predict(np.zeros((2, 3)))
    assert time.perf_counter() - begin < 20


@pytest.mark.linux
def test_a_model_that_ends_the_process_is_refused_by_a_rehearsal(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    from prismap.cli import view

    (tmp_path / "t.csv").write_text("a,b,c\n" + "1,2,3\n" * 30)
    path, *_ = forest(tmp_path)
    view.rehearse(path, [], read_table(tmp_path / "t.csv"))
    monkeypatch.setattr(view, "SECONDS", 3.0)
    with pytest.raises(FileFormatError, match=r"the model in .*m.onnx cannot be read: it took more than 3 seconds"):
        view.rehearse(endless(tmp_path / "m.onnx"), [], read_table(tmp_path / "t.csv"))


# Packed tables


def gz(text):
    return gzip.compress(text, compresslevel=9)


#: Small files of large tables, and the refusal of each.
PACKED = {
    "list.jsonl.gz": (lambda: gz(b"[" + b"{}," * 2 * 10**6 + b"{}]"), "1,000 times"),
    "line.jsonl.gz": (lambda: gz(b'{"a":[' + b"[]," * 10**7 + b"[]]}\n"), "A record of .*1,000 times"),
    "keys.jsonl": (lambda: b"".join(b'{"k%d":1}\n' % i for i in range(2000)), "different keys"),
    "rows.csv.gz": (lambda: gz(b"a,b,c\n" + b"1,2,3\n" * 5 * 10**6), "1,000 times"),
}


@pytest.mark.parametrize("name", sorted(PACKED))
def test_a_small_file_of_a_large_table_is_refused(tmp_path, name, monkeypatch):
    """They took up to 7 GB. The bound is lower here, so that the test is quick."""
    monkeypatch.setattr("prismap._util.blocks.file_bytes", lambda size: 2.0**20 + 1000.0 * size)
    make, words = PACKED[name]
    (tmp_path / name).write_bytes(make())
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match=words):
            read_table(tmp_path / name)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**29


def test_a_list_of_objects_may_be_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr("prismap.tables._json_xlsx.BLOCK", 50)
    records = [{"a": i, "b": "x" * (i % 90), "c": [1, {"d": "}],{"}]} for i in range(200)]
    (tmp_path / "t.json").write_text(json.dumps(records, indent=1), encoding="utf-8")
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    one, other = (read_table(tmp_path / name) for name in ("t.json", "t.jsonl"))
    assert one.columns["a"].tolist() == list(range(200))
    assert {name: list(map(str, np.asarray(column_values(column)))) for name, column in one.columns.items()} == {
        name: list(map(str, np.asarray(column_values(column)))) for name, column in other.columns.items()
    }
    for bad in ('[{"a": 1} {"a": 2}]', '[{"a": 1}] x', '[{"a": 1},]', '[{"a": 1},', "[{"):
        (tmp_path / "t.json").write_text(bad * 1, encoding="utf-8")
        with pytest.raises(InputError, match="is not JSON|holds no list"):
            read_table(tmp_path / "t.json")


def column_values(column):
    return column.values() if hasattr(column, "levels") else column


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_one_long_text_of_many_rows_is_held_once(tmp_path, ending):
    """100 GB, once it is written out for each row."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    codes = np.arange(10**5) % 2
    text = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(["x" * 10**6, "y"]))
    write = parquet.write_table if ending == "parquet" else feather.write_feather
    write(pa.table({"a": text, "b": codes * 1.0}), tmp_path / f"t.{ending}")
    table = read_table(tmp_path / f"t.{ending}")
    assert [len(level) for level in table.columns["a"].levels] == [10**6, 1]
    assert table.columns["a"].codes.tolist() == codes.tolist()


def test_the_values_of_lists_are_counted(tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(10**7, dtype=np.float32)), 10**4)
    parquet.write_table(pa.table({"a": lists}), tmp_path / "t.parquet")
    monkeypatch.setattr("prismap._util.blocks.file_bytes", lambda size: 2.0**25 + 1000.0 * size)
    with pytest.raises(FileFormatError, match="more than 1,000 times the"):
        read_table(tmp_path / "t.parquet")


def test_columns_of_unequal_length_are_refused():
    pa = pytest.importorskip("pyarrow")
    from prismap.tables._arrow import table_from_columns

    columns = [("a", pa.array([1.0, 2.0])), ("b", pa.array([1.0]))]
    with pytest.raises(FileFormatError, match="column 'b' has 1 values, and the table 2 rows"):
        table_from_columns(columns, 2, Roles())


def test_text_that_is_none_in_a_numpy_file_is_refused(tmp_path):
    bad = np.array([0x110000 + 5, 0x61], dtype="<u4").view("<U1")
    np.savez(tmp_path / "t.npz", X=np.zeros((2, 2)), feature_names=bad)
    with pytest.raises(FileFormatError, match="cannot be read as npz"):
        read_table(tmp_path / "t.npz")


def test_an_archive_of_a_later_version_is_refused(tmp_path):
    pytest.importorskip("openpyxl")
    pytest.importorskip("skops.io")
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
        archive.writestr("a", b"b")
    data = bytearray((tmp_path / "t.xlsx").read_bytes())
    place = data.index(b"PK\x01\x02")
    data[place + 6] = 99  # the version needed to extract
    for name in ("t.xlsx", "t.npz", "t.skops"):
        (tmp_path / name).write_bytes(data)
    for name in ("t.xlsx", "t.npz"):
        with pytest.raises(FileFormatError, match="cannot be read as"):
            read_table(tmp_path / name)
    from prismap.cli.models import load_trusted

    with pytest.raises(FileFormatError, match="is no skops file"):
        load_trusted(tmp_path / "t.skops", [])
