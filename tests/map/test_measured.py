"""Above some rows no matrix of all distances is kept: the map is made of the same neighbours."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from prismap import PrisMap
from prismap.exceptions import InputError
from prismap.map import _fitting
from prismap.mappings import VoteMap
from prismap.metrics import FisherMetric
from prismap.metrics._base import MeasuredMetric, PrecomputedMetric

ROWS = 320


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:, np.ptp(X[:240], axis=0) > 0], y


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(_fitting, "FEW_ROWS", 200)


def test_measured_distances_are_those_of_the_matrix(digits):
    X, y = digits[0][:ROWS], digits[1][:ROWS]
    fisher = FisherMetric(posterior="lssvm", supervision=0.8, random_state=0).fit(X, y)
    measured, whole = MeasuredMetric.of(fisher, X), PrecomputedMetric.of(np.array(fisher.pairwise(), dtype=float))
    rows = np.arange(40)
    np.testing.assert_allclose(measured.between(rows, rows), whole.between(rows, rows), atol=1e-5)
    assert (measured.between(rows, rows) == measured.between(rows, rows).T).all()
    (near, columns), (expected, others) = (metric.kneighbors(None, 30) for metric in (measured, whole))
    np.testing.assert_allclose(near, expected, atol=1e-5)
    assert (columns == others).mean() > 0.99  # equal distances may change places
    assert measured.describe() == fisher.describe()
    with pytest.raises(InputError, match=r"MeasuredMetric\.of"):
        MeasuredMetric().fit(X)


def test_a_map_without_the_matrix(few, digits, tmp_path):
    """The mapping is chosen as before, places rows, and comes back from a file."""
    X, y = digits[0][:ROWS], digits[1][:ROWS]
    kept = PrisMap(supervision=0.8, mapping="vote", random_state=0).fit(X, y)
    assert isinstance(kept.map_.embedding.metric_, MeasuredMetric)
    assert isinstance(kept.map_.mapping, VoteMap)
    placed = kept.transform(digits[0][ROWS:400])
    kept.save(tmp_path / "a.prismap")
    np.testing.assert_array_equal(PrisMap.load(tmp_path / "a.prismap").transform(digits[0][ROWS:400]), placed)


def test_the_choice_of_the_mapping_is_the_same(monkeypatch, digits):
    X, y = digits[0][:ROWS], digits[1][:ROWS]
    fits = []
    for most in (200, 2000):
        monkeypatch.setattr(_fitting, "FEW_ROWS", most)
        fits.append(PrisMap(supervision=0.8, random_state=0).fit(X, y))
    assert isinstance(fits[0].map_.embedding.metric_, MeasuredMetric)
    assert isinstance(fits[1].map_.embedding.metric_, PrecomputedMetric)
    assert type(fits[0].map_.mapping) is type(fits[1].map_.mapping)
    assert fits[0].map_.story["objective"] == pytest.approx(fits[1].map_.story["objective"], abs=0.05)


@pytest.mark.parametrize("changes", [{"mapping": "fisher"}, {"method": "mds"}, {"supervision": 1.0}])
def test_what_needs_all_distances_gets_them(few, digits, changes):
    """Kernels, another method, and a posterior that looks between rows."""
    made = PrisMap(**{"supervision": 0.8, "random_state": 0, **changes}).fit(digits[0][:240], digits[1][:240])
    assert isinstance(made.map_.embedding.metric_, PrecomputedMetric)
