"""A run that is killed goes on where it was, to the same bits; the state of another run is refused."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from prismap._util import checkpoint as _checkpoint
from prismap._util.checkpoint import Checkpoint, fingerprint
from prismap.embeddings import TSNE, GradientDescent
from prismap.exceptions import InputError

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


@pytest.mark.parametrize(("n_rows", "last"), [(60, 50), (60, 100), (60, 150), (60, 250), (350, 100), (350, 250)])
def test_a_run_goes_on_to_the_same_bits(tmp_path, always, n_rows, last):
    """Killed in either phase, on either engine; what it takes over is not what the whole run does."""
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


def test_a_killed_process_goes_on(tmp_path):
    """By SIGKILL, which no handler sees."""
    script = (
        "import sys; from prismap._util import checkpoint as _checkpoint; _checkpoint.SECONDS_BETWEEN = 0.0\n"
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


def test_a_damaged_state_is_no_state(tmp_path):
    kept = Checkpoint(tmp_path / "a" / "b", "work", "key")
    assert kept.load() is None
    kept.save(x=np.arange(3))
    np.testing.assert_array_equal(kept.load()["x"], [0, 1, 2])
    kept.path.write_bytes(kept.path.read_bytes()[:40])
    assert kept.load() is None
    kept.clear()
    assert not (tmp_path / "a" / "b").exists()


def test_the_folder_keeps_what_is_not_ours(tmp_path):
    kept = Checkpoint(tmp_path, "work", "key")
    (tmp_path / "other").write_text("x")
    kept.save(x=np.arange(3))
    kept.clear()
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_fingerprints():
    x = np.arange(6.0)
    assert fingerprint(x, 1) == fingerprint(x.copy(), 1)
    others = [(x, 2), (x.reshape(2, 3), 1), (x.astype(np.float32), 1), (x + 1e-12, 1), (sp.csr_array([x]), 1)]
    assert len({fingerprint(x, 1), *(fingerprint(*one) for one in others)}) == 6
