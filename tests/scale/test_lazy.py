"""Dask rows and iterators of batches: the same positions, a fair sample, and nothing loaded that is not asked for."""

import numpy as np
import pytest

from prismap.exceptions import InputError, PrismapWarning
from prismap.map import PrisMap
from prismap.map import _lazy as lazy
from prismap.map._recipe import Recipe
from prismap.scale import map_file, map_frame
from scale.conftest import make_rows

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


def recipe_of(model):
    params = {name: value for name, value in model.get_params().items() if name != "random_state"}
    return Recipe(**params, seed=model.random_state)


def test_batches_are_placed_one_by_one(model):
    X, _ = make_rows(30, 3)
    asked = []

    def batches():
        for start in (0, 10, 20):
            asked.append(start)
            yield X[start : start + 10]

    positions = model.transform(batches())
    assert asked == []
    first = next(positions)
    assert asked == [0]
    np.testing.assert_array_equal(np.vstack([first, *positions]), model.transform(X))


def test_dask_arrays_are_placed_lazily(model):
    X, _ = make_rows(30, 3)
    lazy_rows = da.from_array(X, chunks=(8, 3))
    Y = model.transform(lazy_rows)
    assert isinstance(Y, da.Array)
    assert (Y.shape, Y.chunks[0]) == ((30, 2), lazy_rows.chunks[0])
    np.testing.assert_array_equal(Y.compute(scheduler="sync"), model.transform(X))
    some = lazy_rows[lazy_rows[:, 0] > 1e9]  # blocks of unknown length, all empty
    assert model.transform(some).compute(scheduler="sync").shape == (0, 2)
    with pytest.raises(InputError, match="two dimensions"):
        model.transform(lazy_rows[:, 0])


def test_dask_frames_are_fitted_and_placed_by_name():
    X, y = make_rows(90, 0)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(target=np.array(["u", "v", "w"])[y])
    lazy_frame = dd.from_pandas(frame, npartitions=4)
    rows = lazy_frame[list("abcd")]
    fitted = PrisMap(perplexity=8, random_state=0).fit(rows, lazy_frame["target"])
    plain = PrisMap(perplexity=8, random_state=0).fit(frame[list("abcd")], frame["target"])
    np.testing.assert_array_equal(fitted.embedding_, plain.embedding_)  # fewer rows than fit_rows: all of them
    assert fitted.sampled_rows_.tolist() == list(range(90))
    assert list(fitted.feature_names_in_) == list("abcd")
    Y = fitted.transform(rows).compute(scheduler="sync")
    np.testing.assert_array_equal(Y, plain.transform(frame[list("abcd")]))
    with pytest.raises(InputError, match="unseen at fit time"):
        fitted.transform(rows.rename(columns={"a": "z"})).compute(scheduler="sync")
    with pytest.raises(InputError, match="lengths of X's parts are unknown"):
        PrisMap().fit(rows, y)


def test_a_frame_that_is_there_gets_what_a_file_gets(tmp_path):
    X, y = make_rows(90, 0)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(word=np.array(["u", "v", "w"])[y])
    model = PrisMap.from_table(frame[:60], "word", perplexity=8, random_state=0)
    model.save(tmp_path / "m.prismap")
    later = frame[60:].set_index(np.arange(30) + 1000).assign(other="not needed")
    later.to_parquet(tmp_path / "later.parquet", index=False)
    map_file(tmp_path / "later.parquet", tmp_path / "out.parquet", model)
    expected = pd.read_parquet(tmp_path / "out.parquet").set_index(later.index)
    placed = map_frame(later, tmp_path / "m.prismap")
    pd.testing.assert_frame_equal(placed, expected[list(placed.columns)], check_dtype=False)
    assert {"x", "y", "far", "distance", "neighbor_class", "neighbor_share"} <= set(placed.columns)

    parts = dd.from_pandas(later, npartitions=3)
    lazily = map_frame(parts, model)
    assert (lazily.npartitions, lazily.divisions) == (parts.npartitions, parts.divisions)
    pd.testing.assert_frame_equal(lazily.compute(scheduler="sync"), placed)
    nothing = map_frame(parts[parts["a"] > 1e9], model).compute(scheduler="sync")
    assert (len(nothing), list(nothing.columns)) == (0, list(placed.columns))
    with pytest.warns(PrismapWarning, match="lacks a column of the map: -'a'"):
        assert len(map_frame(later.rename(columns={"a": "z"}), model)) == len(later)
    with pytest.raises(InputError, match="lacks 3 of the 4 columns"):
        map_frame(later.rename(columns={"a": "z", "b": "t", "c": "q"}), model)


@pytest.mark.parametrize("chunks", [50, 137])
def test_the_sample_has_the_shares_of_the_classes_and_a_bounded_pool(chunks, monkeypatch):
    y = np.repeat([0, 1, 2], [1200, 760, 40])
    X = np.column_stack([np.arange(2000.0), y])
    largest = []
    trimmed = lazy.trimmed
    monkeypatch.setattr(lazy, "trimmed", lambda *args: largest.append(trimmed(*args)) or largest[-1])
    model = PrisMap(fit_rows=50, random_state=3)
    rows, target, index = lazy.drawn(da.from_array(X, chunks=(chunks, 2)), y, recipe_of(model))
    np.testing.assert_array_equal(rows[:, 0], index)
    np.testing.assert_array_equal(rows[:, 1], target)
    assert (np.diff(index) > 0).all()
    assert np.bincount(target).tolist() == [30, 19, 1]
    assert max(len(pool.keys) for pool in largest) <= 4 * 50 + 3 * 32
    # Every row has the same chance: the mean place is near the middle of its class.
    assert abs(index[target == 0].mean() - 600) < 4 * 346 / np.sqrt(30)
    again = lazy.drawn(da.from_array(X, chunks=(chunks, 2)), y, recipe_of(model))[2]
    np.testing.assert_array_equal(index, again)
    other = lazy.drawn(da.from_array(X, chunks=(chunks, 2)), y, recipe_of(model.set_params(random_state=4)))[2]
    assert not np.array_equal(index, other)


def test_real_and_missing_targets_are_sampled(monkeypatch):
    X, _ = make_rows(300, 1)
    model = PrisMap(fit_rows=40, random_state=0)
    rows, target, _ = lazy.drawn(da.from_array(X, chunks=(100, 4)), X[:, 0], recipe_of(model))
    assert len(rows) == 40
    np.testing.assert_array_equal(rows[:, 0], target)
    y = np.where(np.arange(300) % 3 == 0, None, "a").astype(object)
    target = lazy.drawn(da.from_array(X, chunks=(100, 4)), y, recipe_of(model))[1]
    assert sum(value is None for value in target) in (13, 14)
    assert lazy.drawn(da.from_array(X, chunks=(100, 4)), None, recipe_of(model))[1] is None


def test_targets_divided_otherwise_are_refused_or_redivided():
    X, y = make_rows(60, 1)
    rows = da.from_array(X, chunks=(20, 4))
    model = PrisMap(fit_rows=30, random_state=0)
    one = lazy.drawn(rows, da.from_array(y, chunks=7), recipe_of(model))
    np.testing.assert_array_equal(one[1], y[one[2]])
    with pytest.raises(InputError, match="y has 50 entries and X has 60 rows"):
        lazy.drawn(rows, da.from_array(y[:50], chunks=20), recipe_of(model))
    with pytest.raises(InputError, match="2 Dask partitions and X has 3"):
        lazy.drawn(rows, dd.from_pandas(pd.Series(y), npartitions=2), recipe_of(model))
    with pytest.raises(InputError, match="cannot be sampled by rows"):
        PrisMap(data="similarity").fit(rows)
    with pytest.raises(InputError, match="fit_rows='10 min' needs rows in memory: of Dask rows one pass draws"):
        PrisMap(fit_rows="10 min").fit(rows, y)
