"""Memory: work that would not fit is refused with the figure and what to set; blocks stay within their budget."""

import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from prismap import PrisMap
from prismap._util import blocks as _blocks
from prismap.embeddings import TSNE
from prismap.exceptions import InputError
from prismap.metrics._base import PrecomputedMetric

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("method", ["tsne", "mds", "isomap"])
@pytest.mark.parametrize("target", [None, y], ids=["plain", "classes"])
def test_a_map_that_would_not_fit_is_refused_with_the_figure(monkeypatch, method, target):
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 1000)
    with pytest.raises(
        InputError, match=r"A map of 60 fitted rows would need .* GiB .* available. Set a smaller fit_rows"
    ):
        PrisMap(method, perplexity=5, random_state=0).fit(X, target)


@pytest.mark.linux
def test_a_process_that_may_not_have_the_memory_says_so():
    """Under a limit of the system on the process, not a figure of ours."""
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
    monkeypatch.setattr("prismap._util.blocks.row_blocks.__defaults__", (2**20, 1))
    D = np.abs(np.subtract.outer(np.arange(2000.0), np.arange(2000.0)))
    metric = PrecomputedMetric().fit(D)
    assert peak_bytes(lambda: metric.kneighbors(None, 5)) < 6 * 2**20


def test_placing_many_rows_takes_no_more_memory_than_few():
    options = {"mapping": "fisher", "supervision": 0.8, "perplexity": 5, "random_state": 0}
    model = PrisMap(TSNE(max_iter=10, perplexity=5), **options).fit(X, y)
    new = rng.normal(size=(20_000, 4))
    model.transform(new[:2000])
    few = peak_bytes(lambda: model.transform(new[:2000]))
    many = peak_bytes(lambda: model.transform(new))
    # Ten times the rows: the positions grow (24 bytes a row, a few times over), the blocks do not.
    assert many - few < 100 * 18_000


# Containers


def group(folder, version, limit, used, reclaimable=0):
    folder.mkdir(parents=True, exist_ok=True)
    if version == 2:
        files = {"memory.max": limit, "memory.current": used, "memory.stat": f"anon 1\ninactive_file {reclaimable}"}
    else:
        files = {
            "memory.limit_in_bytes": limit, "memory.usage_in_bytes": used,
            "memory.stat": f"cache 1\ntotal_inactive_file {reclaimable}",
        }  # fmt: skip
    for name, value in files.items():
        (folder / name).write_text(f"{value}\n")


@pytest.mark.parametrize("version", [1, 2])
def test_the_limit_of_a_container_is_read(tmp_path, version):
    proc, tree = tmp_path / "cgroup", tmp_path / "tree"
    proc.write_text("3:cpu,cpuacct:/elsewhere\n4:memory:/box/job\n" if version == 1 else "0::/box/job\n")
    top = tree / "memory" if version == 1 else tree
    assert _blocks.container_bytes(proc, tree) == np.inf
    group(top / "box" / "job", version, 9_000, 1_000, 500)
    assert _blocks.container_bytes(proc, tree) == 8_500
    group(top / "box", version, 5_000, 4_000)  # a limit above counts too
    assert _blocks.container_bytes(proc, tree) == 1_000
    group(top / "box", version, "max" if version == 2 else 2**63 - 4096, 4_000)
    assert _blocks.container_bytes(proc, tree) == 8_500
    group(top, version, 700, 900)  # more than it may: nothing is left
    assert _blocks.container_bytes(proc, tree) == 0


def test_a_container_sees_the_top_of_its_tree_only(tmp_path):
    (tmp_path / "cgroup").write_text("0::/../../host/path\n")
    group(tmp_path / "tree", 2, 9_000, 1_000)
    assert _blocks.container_bytes(tmp_path / "cgroup", tmp_path / "tree") == 8_000


def test_no_control_groups_are_no_limit(tmp_path):
    assert _blocks.container_bytes(tmp_path / "none", tmp_path) == np.inf
    (tmp_path / "odd").write_bytes(b"\xff\n::\nx\n")
    assert _blocks.container_bytes(tmp_path / "odd", tmp_path) == np.inf


def test_a_map_that_a_container_has_no_room_for_is_refused(monkeypatch):
    monkeypatch.setattr(_blocks, "container_bytes", lambda: 1000.0)
    with pytest.raises(InputError, match=r"0\.0 GiB are available. Set a smaller fit_rows"):
        PrisMap(perplexity=5, random_state=0).fit(X, y)


@pytest.mark.linux
def test_freed_memory_is_kept_in_workers_that_dask_has_told_to_give_it_back():
    """Pages that the system has to make anew for arrays of 2 MB, one after another."""
    script = (
        "import resource, sys, numpy as np; from prismap._util.blocks import keep_freed_memory\n"
        "def faults():\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    for _ in range(100): np.ones(2**18)\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before\n"
        "before = faults(); keep_freed_memory(); faults(); print(before, faults())\n"
    )
    told = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
    found = subprocess.run([sys.executable, "-c", script], env=told, capture_output=True, text=True, check=True)
    before, after = map(int, found.stdout.split())
    if before > 10_000:  # else another C library, which keeps what it likes
        assert after < before / 20
