"""What the rows around a place say of a new row there, against the formula row by row."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from prismap import PrisMap
from prismap.map._predictions import votes_at
from prismap.quality._votes import CLASS, MEAN, SHARE, SPREAD

RNG = np.random.default_rng(0)
X = RNG.normal(size=(45, 3))
NEW = RNG.normal(size=(8, 2)) * 3


def nearest(model, y):
    """The targets of the ten nearest labelled rows, one place at a time."""
    known = np.flatnonzero(y >= 0) if y.dtype.kind == "i" else np.flatnonzero(~np.isnan(y))
    D = cdist(NEW, model.embedding_[known])
    return [y[known[np.argsort(row)[:10]]] for row in D]


def test_classes_are_voted_for_by_ten_labelled_rows():
    y = np.array(["a", "b"], dtype=object)[np.arange(45) % 2]  # twenty of each: half of a class votes at most
    y[40:] = None
    model = PrisMap(perplexity=5, random_state=0).fit(X, y)
    votes = votes_at(model.map_, NEW)
    for near, said, share in zip(nearest(model, model.y_), votes[CLASS], votes[SHARE], strict=True):
        counts = np.bincount(near, minlength=2)
        most = next(code for code in near if counts[code] == counts.max())  # a draw goes to the nearest
        assert said == model.classes_[most]
        assert share == counts.max() / 10


def test_numbers_are_averaged():
    y = RNG.normal(size=45)
    y[3] = np.nan
    model = PrisMap(perplexity=5, random_state=0, target="real").fit(X, y)
    votes = votes_at(model.map_, NEW)
    np.testing.assert_allclose(votes[MEAN], [near.mean() for near in nearest(model, y)])
    np.testing.assert_allclose(votes[SPREAD], [near.std() for near in nearest(model, y)])


def test_without_a_target_nothing_is_said():
    assert votes_at(PrisMap(perplexity=5, random_state=0).fit(X).map_, NEW) == {}


@pytest.mark.parametrize("target", ["class", "real"])
def test_a_loaded_map_says_the_same(tmp_path, target):
    model = PrisMap(perplexity=5, random_state=0, target=target).fit(X, np.arange(45) % 3)
    model.save(tmp_path / "map.prismap")
    for name, values in votes_at(PrisMap.load(tmp_path / "map.prismap").map_, NEW).items():
        np.testing.assert_array_equal(values, votes_at(model.map_, NEW)[name])
