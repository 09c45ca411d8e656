"""Memory: work that would not fit is refused with the figure and what to set; blocks stay within their budget."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from prismap import PrisMap
from prismap.embeddings import TSNE
from prismap.exceptions import InputError
from prismap.metrics.base import PrecomputedMetric

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("method", ["tsne", "mds", "isomap"])
@pytest.mark.parametrize("target", [None, y], ids=["plain", "classes"])
def test_a_map_that_would_not_fit_is_refused_with_the_figure(monkeypatch, method, target):
    monkeypatch.setattr("prismap._blocks.available_bytes", lambda: 1000)
    with pytest.raises(
        InputError, match=r"A map of 60 fitted rows would need .* GiB .* available. Set a smaller fit_rows"
    ):
        PrisMap(method, perplexity=5, random_state=0).fit(X, target)


def test_a_process_that_may_not_have_the_memory_says_so():
    """Under a limit of the system on the process, not a figure of ours."""
    resource = pytest.importorskip("resource")
    assert resource.RLIMIT_AS
    code = """
import resource
import numpy as np
from prismap import PrisMap
from prismap.exceptions import InputError
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
X = np.random.default_rng(0).normal(size=(6000, 2))
resource.setrlimit(resource.RLIMIT_AS, (used + 150 * 2**20, resource.getrlimit(resource.RLIMIT_AS)[1]))
try:
    PrisMap(fit_rows=6000).fit(X, X[:, 0] > 0)
except InputError as error:
    print("refused:", error)
"""
    environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "GiB" in done.stdout
    assert "fit_rows" in done.stdout


def peak_bytes(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_neighbours_of_many_rows_are_found_in_blocks(monkeypatch):
    """All distances would be 32 MB; a block budget of 1 MB holds."""
    monkeypatch.setattr("prismap._blocks.row_blocks.__defaults__", (2**20, 1))
    D = np.abs(np.subtract.outer(np.arange(2000.0), np.arange(2000.0)))
    metric = PrecomputedMetric().fit(D)
    assert peak_bytes(lambda: metric.kneighbors(None, 5)) < 6 * 2**20


def test_placing_many_rows_takes_no_more_memory_than_few():
    model = PrisMap(TSNE(n_iter=10, perplexity=5), perplexity=5, random_state=0).fit(X, y)
    new = rng.normal(size=(20_000, 4))
    model.transform(new[:2000])
    few = peak_bytes(lambda: model.transform(new[:2000]))
    many = peak_bytes(lambda: model.transform(new))
    # Ten times the rows: the positions grow (24 bytes a row, a few times over), the blocks do not.
    assert many - few < 100 * 18_000
