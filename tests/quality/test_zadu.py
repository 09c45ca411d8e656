"""Our measures against ZADU's, where that package is installed (Jeon et al. 2023)."""

import numpy as np
import pytest

from prismap.quality import label_continuity, label_trustworthiness, q_nx, trustworthiness

neighborhoods = pytest.importorskip("zadu.measures.trustworthiness_continuity")
classes = pytest.importorskip("zadu.measures.label_trustworthiness_and_continuity")
ranks = pytest.importorskip("zadu.measures.local_continuity_meta_criteria")


@pytest.fixture(scope="module")
def maps():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 90)
    X = rng.normal(size=(90, 5)) + 2 * np.eye(4, 5)[y]
    return X, X[:, :2] + 0.5 * rng.normal(size=(90, 2)), y


def test_neighbourhoods_agree(maps):
    X, Y, _ = maps
    theirs = neighborhoods.measure(X, Y, k=10)
    assert float(trustworthiness(X, Y, n_neighbors=10)) == pytest.approx(theirs["trustworthiness"], abs=1e-12)
    assert float(trustworthiness(Y, X, n_neighbors=10)) == pytest.approx(theirs["continuity"], abs=1e-12)
    beyond_chance = ranks.measure(X, Y, k=10)["lcmc"]
    assert q_nx(X, Y).value[9] - 10 / 89 == pytest.approx(beyond_chance, abs=1e-12)


def test_classes_agree(maps):
    X, Y, y = maps
    theirs = classes.measure(X, Y, y, cvm="dsc")
    # ZADU does not rescale the distance consistency, so that its chance is 1/2.
    assert (1 + label_trustworthiness(X, Y, y)) / 2 == pytest.approx(theirs["label_trustworthiness"], abs=1e-12)
    assert (1 + label_continuity(X, Y, y)) / 2 == pytest.approx(theirs["label_continuity"], abs=1e-12)
