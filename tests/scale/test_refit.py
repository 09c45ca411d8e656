"""`partial_refit`: new regions get landmarks, and what was on the map stays where it was."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from large_maps import count_as_large
from prismap._util.scales import typical_spacing
from prismap.exceptions import InputError
from prismap.map import PrisMap
from prismap.map._refit import extended_mapping, free_place, groups_of, own_shape
from prismap.mappings import KernelMap
from prismap.metrics import FisherMetric
from scale.conftest import make_rows


def far_rows(n_rows=60, seed=9):
    """A cluster where the map has nothing."""
    return np.random.default_rng(seed).normal(size=(n_rows, 4)) + [0, 0, 0, 15]


@pytest.mark.parametrize(
    "options",
    [{}, {"metric": FisherMetric(posterior="parzen", perplexity=8)}, {"mapping": "euclidean"}, {"target": "none"}],
)
def test_new_regions_are_added_and_old_positions_kept(options, tmp_path):
    X, y = make_rows(90, 0)
    model = PrisMap(perplexity=8, random_state=0, **{"mapping": "fisher", **options}).fit(X, y)
    before, old = model.embedding_.copy(), make_rows(50, 4)[0]
    placed = model.transform(old)
    new = far_rows()
    assert model.is_far(new).all()
    model.partial_refit(np.vstack([old, new]), np.zeros(110, dtype=int))
    np.testing.assert_array_equal(model.embedding_[:90], before)
    assert 5 <= len(model.added_rows_) <= 60
    assert (model.added_rows_ >= 40).all()
    assert len(model.embedding_) == 90 + len(model.added_rows_) == len(model.fit_rows_)
    # Rows of the old regions stay, those of the new one are known, and landmarks fall on themselves.
    spread = np.ptp(before)
    assert np.median(np.linalg.norm(model.transform(old) - placed, axis=1)) < 1e-3 * spread
    assert model.is_far(far_rows(seed=10)).mean() < 0.2
    np.testing.assert_array_equal(model.transform(new[model.added_rows_ - 50][:1]), model.embedding_[90:91])
    # How smooth the kernels are is chosen by evidence, which rounding can turn. Smooth ones pass by their landmarks,
    # but not as far as these are apart.
    near = model.transform(new[model.added_rows_ - 50] + 1e-4)
    assert np.linalg.norm(near - model.embedding_[90:], axis=1).max() < typical_spacing(model.embedding_[90:])
    # The new cluster stays together and apart from the old rows.
    island = model.embedding_[90:][model.added_rows_ >= 50]
    assert cdist(island, before).min() > 2 * typical_spacing(before)
    others = model.transform(far_rows(seed=10))
    assert (cdist(others, island).min(axis=1) < 0.5 * cdist(others, before).min(axis=1)).all()
    assert not model.drift(far_rows(seed=11)).new_region
    # A file holds all of it.
    model.save(tmp_path / "m.prismap")
    loaded = PrisMap.load(tmp_path / "m.prismap")
    np.testing.assert_allclose(loaded.transform(new), model.transform(new), atol=1e-4 * spread)
    assert loaded.partial_refit(new).added_rows_.shape[0] < 10


@pytest.mark.parametrize("options", [{"supervision": 0.8}, {"target": "none"}])
def test_a_large_map_is_extended_by_its_landmarks(options, monkeypatch):
    """No distance to all fitted rows is measured for the new ones, and the old positions stay."""
    count_as_large(monkeypatch, 150, n_landmarks=60)
    monkeypatch.setattr("prismap.map._refit.MOST_PAIRED", 150)
    X, y = make_rows(240, 0)
    model = PrisMap(perplexity=8, fit_rows=240, random_state=0, **options).fit(X, y)
    assert len(model.map_.anchors) < 240
    before, new = model.embedding_.copy(), far_rows()
    for metric in (FisherMetric, type(model.map_.data)):
        monkeypatch.setattr(metric, "pairwise", None)
    model.partial_refit(new)
    np.testing.assert_array_equal(model.embedding_[:240], before)
    island = model.embedding_[240:]
    assert cdist(island, before).min() > 2 * typical_spacing(before)
    assert cdist(model.transform(far_rows(seed=10)), island).min(axis=1).max() < 3 * typical_spacing(before)


def test_landmarks_are_taken_farthest_first_and_spread(model):
    new = far_rows(100)
    copy = PrisMap(perplexity=8, random_state=0).fit(*make_rows(90, 0))
    few = copy.partial_refit(new, most=4).added_rows_
    assert len(few) == 4
    assert few[0] == model.distance_to_data(new).argmax()
    assert len(copy.partial_refit(new, most=4).added_rows_) <= 4  # a second time goes on where the first ended


def test_rows_of_known_regions_change_nothing(model):
    before = model.map_
    assert len(model.partial_refit(make_rows(90, 0)[0]).added_rows_) == 0
    assert model.map_ is before


def test_new_kernels_send_the_new_landmarks_to_their_positions():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 2)) + 3
    old = {
        "landmarks": np.arange(8), "bandwidth": np.full(8, 0.6), "coefficients": rng.normal(size=(8, 2)),
        "center": np.array([5.0, -2.0]), "smoothness": np.array([1.0, 0.0]),
    }  # fmt: skip
    new = extended_mapping(KernelMap().restore(None, Y[:8], old), cdist(X[8:], X), Y[8:], Y)
    np.testing.assert_array_equal(new.coefficients_[:8], old["coefficients"])
    np.testing.assert_allclose(new.place(cdist(X[8:], X)), Y[8:], atol=1e-9)


def test_islands_by_hand():
    Y = np.random.default_rng(0).normal(size=(20, 2))
    shape = own_shape(cdist(Y, Y), 2, spacing=3 * typical_spacing(Y))
    np.testing.assert_allclose(cdist(shape, shape), 3 * cdist(Y, Y), rtol=1e-9)
    np.testing.assert_allclose(shape.mean(axis=0), 0, atol=1e-12)
    assert own_shape(np.zeros((1, 1)), 2, 1.0).tolist() == [[0, 0]]
    assert own_shape(np.array([[0, 5.0], [5.0, 0]]), 3, 1.0).shape == (2, 3)
    assert [group.tolist() for group in groups_of(cdist([[0], [9], [1], [2]], [[0], [9], [1], [2]]), 1)] == [
        [0, 2, 3],
        [1],
    ]
    occupied = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
    place = free_place(np.array([1.0, 4.0]), 2.0, occupied)
    assert 2.0 <= cdist([place], occupied).min() < 2.5
    assert place[0] < 0  # the nearest shore
    assert free_place(np.array([20.0, 20.0]), 2.0, occupied).tolist() == [20, 20]


def test_other_kinds_and_bad_targets(model):
    X, y = make_rows(60, 0)
    sparse = PrisMap(perplexity=8, random_state=0).fit(sp.csr_array(np.maximum(X, 0)), y)
    assert len(sparse.partial_refit(sp.csr_array(np.maximum(far_rows(), 0))).added_rows_)
    real = PrisMap(perplexity=8, random_state=0).fit(X, X[:, 0])
    real.partial_refit(far_rows(), [*[None] * 30, *[2.5] * 30])
    assert len(real.embedding_) == len(real.y_) > 60
    with pytest.raises(InputError, match="classes the map does not know .7."):
        model.partial_refit(far_rows(), np.full(60, 7))
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    matrix = PrisMap(data="dissimilarity", perplexity=8, random_state=0).fit(D)
    with pytest.raises(InputError, match="partial_refit needs data='vectors'"):
        matrix.partial_refit(D)
