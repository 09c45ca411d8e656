"""A killed fit goes on where it was: neighbours are not searched again, and the map is the same."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from large_maps import count_as_large
from prismap import PrisMap
from prismap.bundle import _checkpoint
from prismap.exceptions import InputError
from prismap.map import _methods as methods
from prismap.mappings import KernelMap, VoteMap

X, y = make_blobs(400, 4, centers=4, cluster_std=2.0, random_state=0)


class Killed(Exception):
    pass


@pytest.fixture
def large(monkeypatch):
    """Maps of more than 300 rows are large, and the state is written at every look."""
    count_as_large(monkeypatch, 300, n_landmarks=100)
    monkeypatch.setattr(_checkpoint, "SECONDS_BETWEEN", 0.0)


def kill(iteration, error, positions):
    if iteration >= 100:
        raise Killed


def a_map(**options):
    return PrisMap(supervision=0.8, perplexity=10, random_state=0, **options)


def test_a_large_map_goes_on(tmp_path, large, monkeypatch):
    whole = a_map().fit(X, y)
    assert np.shares_memory(whole.map_.rows, X)  # not copied
    with pytest.raises(Killed):
        a_map().fit(X, y, callback=kill, checkpoint=tmp_path / "kept")
    monkeypatch.setattr(methods, "kneighbors", None)
    seen = []
    again = a_map().fit(X, y, callback=lambda i, *_: seen.append(i), checkpoint=tmp_path / "kept")
    np.testing.assert_array_equal(again.embedding_, whole.embedding_)
    assert seen[0] >= 100
    assert again.map_.story == whole.map_.story
    assert not (tmp_path / "kept").exists()


def test_another_target_is_refused(tmp_path, large):
    with pytest.raises(Killed):
        a_map().fit(X, y, callback=kill, checkpoint=tmp_path)
    with pytest.raises(InputError, match="other samples, targets or parameters"):
        a_map().fit(X, np.roll(y, 1), checkpoint=tmp_path)


def test_what_cannot_go_on_says_so(tmp_path):
    with pytest.raises(InputError, match="needs random_state"):
        PrisMap().fit(X, y, checkpoint=tmp_path)
    with pytest.raises(InputError, match="MDS cannot go on"):
        PrisMap("mds", random_state=0).fit(X, y, checkpoint=tmp_path)


def test_kernels_are_fitted_only_where_they_are_asked(large):
    """On a large map of vectors the nearest fitted rows decide; of sparse rows the kernels do."""
    by_rows = a_map().fit(X, y)
    assert isinstance(by_rows.map_.mapping, VoteMap)
    assert by_rows.map_.cells is not None
    by_kernels = a_map(mapping="fisher").fit(X, y)
    assert isinstance(by_kernels.map_.mapping, KernelMap)
    np.testing.assert_array_equal(by_rows.transform(X[:9] + 0.01), by_kernels.transform(X[:9] + 0.01))
