"""Ctrl-C in the middle: a prompt end, nothing half-written, and objects that can be fitted again."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from prismap import PrisMap

X = np.random.default_rng(0).normal(size=(400, 5))
y = (X[:, 0] > 0).astype(int)

#: Slow enough to be met in the middle: a long t-SNE whose callback tells when it has begun.
FIT_AND_SAVE = """
import sys
import numpy as np
from prismap import PrisMap
from prismap.embeddings import TSNE, GradientDescent
X = np.random.default_rng(0).normal(size=(400, 5))
def told(iteration, error, positions):
    print("begun", flush=True)
method = TSNE(max_iter=10**6, descent=GradientDescent(tol=0))
PrisMap(method, random_state=0).fit(X, X[:, 0] > 0, callback=told).save(sys.argv[1])
"""


def interrupted(words, begun):
    """Start a process, send SIGINT when `begun(process)` returns, and tell its end: code and stderr."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        begun(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, err


@pytest.mark.posix
def test_a_fit_in_a_script_ends_and_leaves_no_file(tmp_path):
    words = [sys.executable, "-c", FIT_AND_SAVE, str(tmp_path / "m.prismap")]
    code, err = interrupted(words, lambda process: process.stdout.readline())
    assert code not in (0, None)
    assert "KeyboardInterrupt" in err
    assert os.listdir(tmp_path) == []


@pytest.mark.posix
def test_the_command_says_that_it_stopped_and_leaves_nothing(tmp_path):
    data = tmp_path / "d.csv"
    np.savetxt(data, np.column_stack([np.tile(X, (10, 1)) + 0.01 * np.arange(4000)[:, None], np.tile(y, 10)]),
               delimiter=",", header="a,b,c,d,e,y", comments="")  # fmt: skip
    words = [sys.executable, "-m", "prismap.cli.main", "map", data, "--target", "y", "-o", tmp_path / "out"]

    def begun(process):
        # The first line on stderr comes when the fit begins, or soon before; half a second later it is under way.
        process.stderr.readline()
        time.sleep(0.5)

    code, err = interrupted([str(word) for word in words], begun)
    # A shell shows both as 130; Python ends by the signal itself where it came during an import that evaluates text.
    assert code in (130, -signal.SIGINT)
    assert err.endswith("prismap: stopped\n")
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == ["d.csv"]


@pytest.mark.parametrize("method", ["tsne", "nerv", "mds", "som", "gtm", "elastic"])
def test_an_interrupted_map_can_be_fitted_again(method):
    def interrupt(*step):
        raise KeyboardInterrupt

    def model():
        return PrisMap(method, perplexity=5, random_state=0)

    rows, target = X[:40], y[:40]
    again = model()
    with pytest.raises(KeyboardInterrupt):
        again.fit(rows, target, callback=interrupt)
    again.fit(rows, target)
    np.testing.assert_array_equal(again.embedding_, model().fit(rows, target).embedding_)


def test_after_an_interrupted_second_fit_there_is_no_map():
    """What answers after Ctrl-C must not be half of each map."""

    def interrupt(*step):
        raise KeyboardInterrupt

    model = PrisMap("mds", perplexity=5, random_state=0).fit(X[:40], y[:40])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:30, :3], y[:30], callback=interrupt)
    with pytest.raises(NotFittedError):
        model.transform(X[:5, :3])
