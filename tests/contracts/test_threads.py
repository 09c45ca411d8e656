"""Loops of small products use one thread of linear algebra, and give the others back."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from prismap import embeddings, mappings
from prismap._util.threads import n_threads, on_one_thread, parallel_map
from prismap.metrics import Metric


def blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@on_one_thread
def inside(fail):
    """What it sees."""
    if fail:
        raise ValueError("stop")
    return blas_threads()


def test_one_thread_inside_and_as_many_as_before_afterwards():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        assert inside(False) == {1}
        with pytest.raises(ValueError, match="stop"):
            inside(True)
        assert blas_threads() == before
    assert inside.__doc__ == "What it sees."


def test_jobs_side_by_side_keep_their_order_and_use_one_thread_of_linear_algebra_each():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        found = parallel_map(lambda job: (job, blas_threads()), range(20), n_jobs=2)
        assert found == [(job, {1}) for job in range(20)]
        with pytest.raises(ZeroDivisionError):
            parallel_map(lambda job: 1 // job, [1, 0], n_jobs=2)
        assert blas_threads() == before


def test_number_of_threads(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    assert [n_threads(n_jobs) for n_jobs in (None, -1, 0, 1, 2, 50)] == [3, 3, 1, 1, 2, 3]


class Counting(Metric):
    """Euclidean distances, which note how many threads of linear algebra they are asked with."""

    def fit(self, X, y=None):
        self.rows_, self.n_rows_, self.n_features_in_, self.seen_ = X, len(X), X.shape[1], []
        return self

    def pairwise(self, A=None, B=None):
        self.seen_.append(blas_threads())
        A, B = (self.rows_ if rows is None else rows for rows in (A, B))
        return np.sqrt(np.square(A[:, None] - B[None]).sum(axis=2))


NAMES = sorted({*embeddings.__all__} - {"Embedding"})  # the contract alone embeds nothing


@pytest.mark.filterwarnings("ignore:MVU kept")
@pytest.mark.parametrize("name", [name for name in NAMES if hasattr(getattr(embeddings, name), "fit")])
def test_every_embedding_is_fitted_on_one_thread(name):
    rng = np.random.default_rng(0)
    X, made = rng.normal(size=(24, 3)), getattr(embeddings, name)(metric=Counting())
    made.set_params(**{key: 6 for key in ("max_iter", "n_neighbors", "perplexity") if key in made.get_params()})
    with threadpool_limits(2, user_api="blas"):
        made.fit(X, np.arange(24) % 2)
    assert made.metric_.seen_
    assert all(seen == {1} for seen in made.metric_.seen_)


@pytest.mark.parametrize("name", ["KernelMap", "VoteMap", "DirectPlacement", "ParametricMap"])
def test_every_mapping_is_fitted_and_places_on_one_thread(name):
    rng = np.random.default_rng(0)
    X, made = rng.normal(size=(24, 3)), getattr(mappings, name)(metric=Counting())
    settings = {"max_iter": 6, "cost": mappings.MapCost(perplexity=6)}
    made.set_params(**{key: value for key, value in settings.items() if key in made.get_params()})
    with threadpool_limits(2, user_api="blas"):
        made.fit(X, X[:, :2]).transform(X[:2])
    assert made.metric_.seen_
    assert all(seen == {1} for seen in made.metric_.seen_)
