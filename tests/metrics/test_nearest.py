"""Nearest rows through the cells of landmarks, against a pass over all rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from prismap.metrics import SimilarityMetric
from prismap.metrics import _vector_search as vector_search
from prismap.metrics._geometry import CosineMetric, FittedIndex, VectorMetric
from prismap.metrics._vector_search import smallest_by_place
from prismap.metrics.posteriors._local_parzen import LabelledRows, PassedNearest, SearchedNearest, nearest_among

ROWS, CLASSES = make_blobs(9000, 6, centers=30, cluster_std=1.5, random_state=0)
CLASSES = CLASSES % 4
NEW = ROWS[:300] + np.random.default_rng(1).normal(scale=0.5, size=(300, 6))
K = 60


@pytest.fixture(scope="module")
def searched():
    found = nearest_among(VectorMetric().over(ROWS), np.arange(len(ROWS)))
    assert isinstance(found, SearchedNearest)
    return found


def recall(found, exact):
    return np.mean([np.isin(one, other).mean() for one, other in zip(exact, found, strict=True)])


def test_nearly_all_of_the_nearest_rows_are_found_and_measured_right(searched):
    squared, near = searched.find(NEW, K)
    slow, exact = PassedNearest(searched.data, searched.columns).find(NEW, K)
    assert recall(near, exact) > 0.97
    assert (np.diff(squared, axis=1) >= 0).all()
    assert (squared >= slow - 1e-9).all()  # none is nearer than the nearest
    np.testing.assert_allclose(squared, np.square(ROWS[near] - NEW[:, None]).sum(axis=2))


def test_far_fewer_rows_are_compared_than_there_are(searched):
    _, sizes = searched.search.cells._probed(searched.search.lay(searched.data.centred(NEW)), K)
    assert sizes.sum(axis=1).mean() + searched.search.cells.n_cells < len(ROWS) / 4


def test_every_cell_holds_the_rows_whose_landmark_it_is(searched):
    cells = searched.search.cells
    assert sorted(cells.members) == list(range(len(ROWS)))
    landmarks = cells.landmarks.rows.digits[0]
    for cell in (0, 17, cells.n_cells - 1):
        for row in cells.numbers[cells.edges[cell] : cells.edges[cell + 1]][:5]:
            D2 = np.square(landmarks - row).sum(axis=1)
            assert D2[cell] == D2.min()


def test_landmarks_of_landmarks_find_the_same(searched, monkeypatch):
    monkeypatch.setattr(vector_search, "MOST_COMPARED", 150)
    deep = nearest_among(searched.data, searched.columns)
    assert deep.search.cells.landmarks.n_cells > 0
    exact = PassedNearest(searched.data, searched.columns).find(NEW, K)[1]
    assert recall(deep.find(NEW, K)[1], exact) > 0.95
    laid = searched.search.lay(searched.data.rows_)
    own = deep.search.cells.landmarks.nearest(laid)
    D2 = np.square(laid.digits[0][:200, None] - deep.search.cells.landmarks.numbers[None]).sum(axis=2)
    exact = deep.search.cells.landmarks.members[D2.argmin(axis=1)]
    assert np.mean(own[:200] == exact) > 0.97


def test_a_row_finds_the_same_alone_and_in_company(searched):
    squared, near = searched.find(NEW, K)
    for i in range(0, 300, 37):
        one = searched.find(NEW[i : i + 1], K)
        np.testing.assert_array_equal(one[0][0], squared[i])
        np.testing.assert_array_equal(one[1][0], near[i])
    with threadpool_limits(1):
        back = searched.find(np.asfortranarray(NEW[::-1]), K)
    np.testing.assert_array_equal(back[1][::-1], near)


def test_a_row_far_out_changes_nothing_for_others_and_finds_the_nearest(searched):
    far = np.vstack([NEW[:5], np.full((1, 6), 1e9)])
    squared, _ = searched.find(far, K)
    np.testing.assert_array_equal(squared[:5], searched.find(NEW[:5], K)[0])
    assert np.isfinite(squared[5]).all()


def test_equal_rows_share_a_cell_and_are_all_found():
    rows = np.repeat(ROWS[:40], 200, axis=0)
    found = nearest_among(VectorMetric().over(rows), np.arange(len(rows)))
    assert found.search.cells.n_cells <= 40
    _, near = found.find(rows[::200] + 1e-3, 90)
    np.testing.assert_array_equal(near // 200, np.repeat(np.arange(40)[:, None], 90, axis=1))
    np.testing.assert_array_equal(near % 200, np.broadcast_to(np.arange(90), near.shape))  # ties by place


def test_some_columns_only(searched):
    columns = np.flatnonzero(CLASSES != 2)
    squared, near = nearest_among(searched.data, columns).find(NEW, K)
    assert (CLASSES[columns[near]] != 2).all()
    np.testing.assert_allclose(squared, np.square(ROWS[columns[near]] - NEW[:, None]).sum(axis=2))


def test_few_rows_and_rows_without_a_grid_are_passed():
    assert isinstance(nearest_among(VectorMetric().over(ROWS), np.arange(4000)), PassedNearest)
    apart = np.vstack([ROWS[:4500], ROWS[4500:] + 1e9])
    missing = np.where(np.arange(6) == 3, np.nan, ROWS)
    missing[::2] = ROWS[::2]
    for rows in (apart, missing, sp.csr_array(ROWS)):
        assert isinstance(nearest_among(VectorMetric().over(rows), np.arange(9000)), PassedNearest)
    assert isinstance(nearest_among(CosineMetric().fit(ROWS), np.arange(9000)), SearchedNearest)
    small = SimilarityMetric().over(ROWS[:50] @ ROWS[:50].T)
    assert isinstance(nearest_among(small, np.arange(50)), PassedNearest)


def test_new_rows_with_missing_values_are_passed(searched):
    holed = NEW[:4].copy()
    holed[2, 1] = np.nan
    _, near = searched.find(holed, K)
    slow = PassedNearest(searched.data, searched.columns).find(holed, K)
    np.testing.assert_array_equal(near[2], slow[1][2])
    np.testing.assert_array_equal(near[[0, 1, 3]], searched.find(NEW[[0, 1, 3]], K)[1])


def test_the_smallest_entries_of_equal_ones_are_the_first():
    D = np.array([[3.0, 1, 2, 2, 2, 0], [1, 1, 1, 1, 1, 1], [5, 4, 3, 2, 1, 0]])
    assert smallest_by_place(D, 3).tolist() == [[1, 2, 5], [0, 1, 2], [3, 4, 5]]
    assert smallest_by_place(D, 6).tolist() == [list(range(6))] * 3


def test_the_posterior_of_new_and_unlabelled_rows_is_that_of_a_pass_over_all():
    codes = np.where(np.arange(9000) % 5 == 0, -1, CLASSES)
    judge = LabelledRows(VectorMetric().over(ROWS), codes, 4, 20, 20)
    assert isinstance(judge.nearest, SearchedNearest)
    slow = LabelledRows(judge.nearest.data, codes, 4, 20, 20)
    slow.nearest = PassedNearest(judge.nearest.data, judge.nearest.columns)
    others = FittedIndex(np.flatnonzero(codes < 0))
    for rows in (NEW, others):
        P, exact = judge.judge(rows), slow.judge(rows)
        np.testing.assert_allclose(P.sum(axis=1), 1)
        assert np.abs(P - exact).mean() < 1e-3
        assert (P.argmax(axis=1) == exact.argmax(axis=1)).mean() > 0.99
