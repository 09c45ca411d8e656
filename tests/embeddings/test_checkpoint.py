"""A run that is killed goes on where it was, to the same bits; the state of another run is refused."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from prismap.bundle import _checkpoint, read_bundle, write_bundle
from prismap.bundle._checkpoint import Checkpoint, fingerprint
from prismap.embeddings import TSNE, GradientDescent
from prismap.embeddings._descent import check_state
from prismap.exceptions import InputError, PrismapWarning

OPTIONS = {"perplexity": 10, "max_iter": 200, "random_state": 0}


class Killed(Exception):
    pass


def killed_at(last):
    def callback(iteration, error, embedding):
        if iteration >= last:
            raise Killed

    return callback


def kept_in(folder):
    return GradientDescent(tol=0.001, checkpoint=folder)


@pytest.fixture
def always(monkeypatch):
    """The state is written at every look."""
    monkeypatch.setattr(_checkpoint, "SECONDS_BETWEEN", 0.0)


@pytest.mark.parametrize(
    ("n_rows", "last"), [(60, 50), (60, 100), (60, 150), (60, 250), (350, 50), (350, 100), (350, 150), (350, 250)]
)
def test_a_run_goes_on_to_the_same_bits(tmp_path, always, n_rows, last):
    """Killed in either phase, on each engine; what it takes over is not what the whole run does."""
    X, _ = make_blobs(n_rows, 5, centers=4, cluster_std=2.0, random_state=0)
    whole = TSNE(**OPTIONS, descent=GradientDescent(tol=0.001)).fit(X)
    with pytest.raises(Killed):
        TSNE(**OPTIONS, callback=killed_at(last), descent=kept_in(tmp_path / "kept")).fit(X)
    seen = []
    again = TSNE(**OPTIONS, callback=lambda i, *_: seen.append(i), descent=kept_in(tmp_path / "kept")).fit(X)
    assert seen[0] >= last
    np.testing.assert_array_equal(again.embedding_, whole.embedding_)
    assert (again.n_iter_, again.kl_divergence_) == (whole.n_iter_, whole.kl_divergence_)
    assert not (tmp_path / "kept").exists()


def test_an_arranged_run_goes_on_and_another_strength_is_refused(tmp_path, always):
    X, _ = make_blobs(120, 5, centers=4, cluster_std=2.0, random_state=0)
    whole = TSNE(**OPTIONS, descent=GradientDescent(arrangement=0.5)).fit(X)
    kept = GradientDescent(arrangement=0.5, checkpoint=tmp_path / "kept")
    with pytest.raises(Killed):
        TSNE(**OPTIONS, callback=killed_at(100), descent=kept).fit(X)
    with pytest.raises(InputError, match="other samples, targets or parameters"):
        TSNE(**OPTIONS, descent=GradientDescent(arrangement=0.6, checkpoint=tmp_path / "kept")).fit(X)
    np.testing.assert_array_equal(TSNE(**OPTIONS, descent=kept).fit(X).embedding_, whole.embedding_)


def test_a_killed_process_goes_on(tmp_path):
    """By SIGKILL, which no handler sees."""
    script = (
        "import sys; from prismap.bundle import _checkpoint; _checkpoint.SECONDS_BETWEEN = 0.0\n"
        "from sklearn.datasets import make_blobs; from prismap.embeddings import TSNE, GradientDescent\n"
        "def tell(iteration, *_): print(iteration, flush=True)\n"
        "X, _ = make_blobs(60, 5, centers=4, cluster_std=2.0, random_state=0)\n"
        "descent = GradientDescent(tol=0, checkpoint=sys.argv[1])\n"
        "TSNE(perplexity=10, max_iter=10**6, random_state=0, callback=tell, descent=descent).fit(X)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _ in range(3)]
        process.kill()
    X, _ = make_blobs(60, 5, centers=4, cluster_std=2.0, random_state=0)
    seen = []

    def stop(iteration, *_):
        seen.append(iteration)
        return True

    descent = GradientDescent(tol=0, checkpoint=tmp_path)
    TSNE(perplexity=10, max_iter=10**6, random_state=0, callback=stop, descent=descent).fit(X)
    assert seen[0] >= int(lines[-1])


@pytest.mark.parametrize(
    "change", [{"max_iter": 150}, {"descent__tol": 0.01}, {"perplexity": 9}, {"descent__early_exaggeration": 4}]
)
def test_another_run_is_refused(tmp_path, always, change):
    X, _ = make_blobs(60, 5, random_state=0)
    with pytest.raises(Killed):
        TSNE(**OPTIONS, callback=killed_at(100), descent=kept_in(tmp_path)).fit(X)
    with pytest.raises(InputError, match="other samples, targets or parameters"):
        TSNE(**OPTIONS, descent=kept_in(str(tmp_path))).set_params(**change).fit(X)
    with pytest.raises(InputError, match="other samples"):
        TSNE(**OPTIONS, descent=kept_in(tmp_path)).fit(X + np.eye(60, 5))


def any_state(state):
    """Every state will do."""


def test_a_state_comes_back(tmp_path):
    kept = Checkpoint(tmp_path / "a" / "b", "work", "key")
    assert kept.load({"x": (3,)}, any_state) is None
    kept.save({"x": np.arange(3)}, how="well")
    state = kept.load({"x": (3,)}, any_state)
    np.testing.assert_array_equal(state.arrays["x"], [0, 1, 2])
    assert state.values == {"how": "well"}
    kept.clear()
    assert not (tmp_path / "a" / "b").exists()


def refuses(state):
    raise ValueError("no state of this work")


@pytest.mark.parametrize(
    ("damage", "shape", "check", "words"),
    [
        (lambda raw: raw[:40], (3,), any_state, "is damaged, or was not written by prismap"),
        (lambda raw: raw.replace(bytes([2, 0, 0, 0, 0, 0, 0, 0]), bytes([3, 0, 0, 0, 0, 0, 0, 0])), (3,), any_state,
         "is damaged"),
        (lambda raw: raw, (4,), any_state, r"x has shape \(3,\)"),
        (lambda raw: raw, (3,), refuses, "no state of this work"),
        (lambda raw: raw + bytes(10**6), (3,), any_state, "more than max_bytes"),
    ],
    ids=["cut short", "other number", "other shape", "refused", "too large"],
)  # fmt: skip
def test_what_cannot_be_trusted_is_set_aside(tmp_path, damage, shape, check, words):
    kept = Checkpoint(tmp_path, "work", "key")
    kept.save({"x": np.arange(3)})
    kept.path.write_bytes(damage(kept.path.read_bytes()))
    with pytest.warns(PrismapWarning, match=f"work.npz cannot be trusted and is now work.npz.damaged: .*{words}.*anew"):
        assert kept.load({"x": shape}, check) is None
    assert [path.name for path in tmp_path.iterdir()] == ["work.npz.damaged"]


def forged(name, place, value):
    """A change of one entry of one array, under a digest that is right."""

    def change(arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return change


FORGERIES = {
    "NaN": forged("positions", (3, 1), np.nan),
    "far away": forged("positions", (3, 1), 1e308),
    "farther than it can be": forged("positions", (3, 1), 5000.0),
    "a negative row": forged("order", 3, -5),
    "a row beyond": forged("order", 3, 10**9),
    "a row twice": forged("order", 3, 4),
    "a long step": forged("update", (0, 0), 6.0),
    "no gain": forged("gains", (0, 0), 0.0),
    "much gain": forged("gains", (0, 0), 1e6),
    "another phase": forged("counts", 0, 7),
    "steps below none": forged("counts", 1, -25),
    "more steps than in all": forged("counts", 1, 10**6),
    "fractions": lambda arrays: arrays.update(order=arrays["order"] + 0.5),
    "too few rows": lambda arrays: arrays.update(order=arrays["order"][:-1]),
    "no gains": lambda arrays: arrays.pop("gains"),
    "more arrays": lambda arrays: arrays.update(more=np.zeros(3)),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_state_that_no_run_can_reach_is_set_aside(tmp_path, always, forgery):
    """Compiled code would trust it. The run begins anew, and comes to the map of a run without a checkpoint."""
    X, _ = make_blobs(60, 5, centers=4, cluster_std=2.0, random_state=0)
    with pytest.raises(Killed):
        TSNE(**OPTIONS, callback=killed_at(100), descent=kept_in(tmp_path)).fit(X)
    path = tmp_path / "descent.npz"
    bundle = read_bundle(path)
    arrays = dict(bundle.arrays)
    FORGERIES[forgery](arrays)
    write_bundle(path, arrays, bundle.header)
    with pytest.warns(PrismapWarning, match="descent.npz cannot be trusted"):
        again = TSNE(**OPTIONS, descent=kept_in(tmp_path)).fit(X)
    whole = TSNE(**OPTIONS, descent=GradientDescent(tol=0.001)).fit(X)
    np.testing.assert_array_equal(again.embedding_, whole.embedding_)


def test_a_map_that_spans_more_than_the_memory_is_set_aside(monkeypatch):
    """The mesh grows with the area, up to its most nodes."""
    start = np.zeros((4, 2))
    state = {
        "counts": np.array([1, 500, 1000]), "positions": np.array([[-400.0, 0], [400, 0], [0, 400], [0, -400]]),
        "update": start, "gains": start + 1, "order": np.arange(4),
    }  # fmt: skip
    monkeypatch.setattr("prismap.embeddings._descent.available_bytes", lambda: 10**9)
    check_state(state, start)
    monkeypatch.setattr("prismap.embeddings._descent.available_bytes", lambda: 10**8)
    with pytest.raises(ValueError, match="more memory than there is"):
        check_state(state, start)


def test_the_folder_keeps_what_is_not_ours(tmp_path):
    kept = Checkpoint(tmp_path, "work", "key")
    (tmp_path / "other").write_text("x")
    kept.save({"x": np.arange(3)})
    kept.clear()
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_fingerprints():
    x = np.arange(6.0)
    assert fingerprint(x, 1) == fingerprint(x.copy(), 1)
    others = [(x, 2), (x.reshape(2, 3), 1), (x.astype(np.float32), 1), (x + 1e-12, 1), (sp.csr_array([x]), 1)]
    assert len({fingerprint(x, 1), *(fingerprint(*one) for one in others)}) == 6
