"""Objects of other libraries through `judge`, where they are installed; `test_judge` has stand-ins for all of them."""

import warnings

import numpy as np
import openTSNE
import pytest
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from prismap import judge


@pytest.fixture(scope="module")
def groups():
    return make_blobs(120, 6, centers=4, cluster_std=1.0, center_box=(-20, 20), random_state=0)


@pytest.fixture(scope="module")
def noise():
    rng = np.random.default_rng(0)
    return rng.normal(size=(120, 6)), rng.integers(0, 3, 120)


def judged(method, X, y, **options):
    """The report, without what the library warns of on so few rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return judge(method, X, y, budget="quick", **options)


def tsne():
    return openTSNE.TSNE(perplexity=10, n_iter=60, early_exaggeration_iter=60, n_jobs=1)


@pytest.mark.parametrize("method", [tsne(), PCA(2), LinearDiscriminantAnalysis(n_components=2)])
def test_maps_of_groups_show_them(method, groups):
    found = judged(method, *groups)
    assert (found.target_shows, found.overstates) == (True, False)
    assert any("by the transform of" in note for note in found.notes)
    assert found.row_trust.value.mean() > 0.9
    assert len(found.clusters.clusters) >= 2


def test_open_tsne_invents_nothing(noise):
    found = judged(tsne(), *noise)
    assert not found.target_shows  # 24 judged rows do not prove that it does not
    assert found.overstates is False


def test_umap_is_honest_without_labels_and_not_with_them(groups, noise):
    umap = pytest.importorskip("umap")
    found = judged(umap.UMAP(n_neighbors=10), *groups, supervised=False)
    assert (found.target_shows, found.overstates) == (True, False)
    assert any("by the transform of UMAP" in note for note in found.notes)
    with_labels = judged(umap.UMAP(n_neighbors=10), *noise)
    assert not with_labels.target_shows
    assert with_labels.overstates is True
    assert judged(umap.UMAP(n_neighbors=10), *noise, supervised=False).overstates is False
    model = umap.UMAP(n_neighbors=10).fit(groups[0])
    kept = model.embedding_.copy()
    assert judged(model, *groups, supervised=False).target_shows is True
    np.testing.assert_array_equal(model.embedding_, kept)


def test_pacmap_is_judged(groups, noise):
    pacmap = pytest.importorskip("pacmap")
    found = judged(pacmap.PaCMAP(n_neighbors=10), *groups)
    assert (found.target_shows, found.overstates) == (True, False)
    assert (judged(pacmap.PaCMAP(n_neighbors=10), *noise).target_shows) is False
