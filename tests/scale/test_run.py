"""`map_files`: every row once, whoever is killed in the middle, and bit-equal to a run that nobody disturbed."""

import ntpath
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from prismap.exceptions import InputError
from prismap.scale import _plan as plan
from prismap.scale import _run as run
from prismap.scale import map_files
from prismap.scale._files import attempt, fingerprint
from prismap.scale._records import Part
from prismap.scale._run import run_pool
from scale.conftest import contents, parquet, write_rows
from scale.helpers import dies_on_b, dies_once


@pytest.fixture
def undisturbed(folder, model_file, tmp_path):
    """The outputs of a quiet run in this process."""
    results = map_files(folder, tmp_path / "quiet", model_file, n_workers=1)
    assert [(result.rows, result.error) for result in results] == [(40, None), (30, None), (20, None)]
    return contents(tmp_path / "quiet")


@pytest.mark.posix
def test_a_killed_worker_costs_nothing(folder, model_file, undisturbed, tmp_path, monkeypatch):
    (folder / "a.parquet").unlink()
    undisturbed.pop("a.parquet")
    monkeypatch.setattr(run, "attempt", partial(dies_once, flag=str(tmp_path / "flag")))
    seen = []
    results = map_files(folder, tmp_path / "out", model_file, n_workers=2, progress=seen.append)
    assert (tmp_path / "flag").exists()
    assert [result.error for result in results] == [None] * 2
    assert contents(tmp_path / "out") == undisturbed
    assert (seen[-1].files_done, seen[-1].rows, seen[-1].rows_expected, seen[-1].seconds_left) == (2, 50, 50, 0)


@pytest.mark.posix
def test_a_file_that_kills_every_worker_is_given_up_and_the_others_done(monkeypatch):
    parts = [Part(Path(f"{name}.parquet"), Path(f"{name}-out.parquet")) for name in "abcd"]
    errors = {result.source: result.error for result in run_pool(parts, dies_on_b, 2)}
    assert errors.pop("b.parquet").startswith("b.parquet: its worker process died 3 times")
    assert errors == {"a.parquet": None, "c.parquet": None, "d.parquet": None}
    monkeypatch.setattr(run, "MOST_DEATHS", 1)
    errors = [result.error for result in run_pool(parts[1:2] * 2, dies_on_b, 1)]
    assert all("too many worker processes died" in error for error in errors)


@pytest.mark.posix
def test_a_run_that_is_killed_is_completed_by_the_next(model_file, tmp_path):
    data, out = tmp_path / "big.parquet", tmp_path / "out"
    write_rows(data, 60_000, 1, row_group_size=10_000)
    code = (
        "import os, signal, sys; from prismap.scale import _plan, map_files; _plan.PART_ROWS = 10_000\n"
        "def killed(now):  # while the second part is being written\n"
        "    if now.files_done and now.rows > 10_000: os.kill(os.getpid(), signal.SIGKILL)\n"
        "map_files(sys.argv[1], sys.argv[2], sys.argv[3], n_workers=1, progress=killed)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(data), str(out), str(model_file)], check=False)
    assert ended.returncode == -signal.SIGKILL
    done = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*")}
    assert len(done) == 1
    assert len(list(out.glob(".*part-*"))) == 1  # what it was writing
    plan_rows, plan.PART_ROWS = plan.PART_ROWS, 10_000
    try:
        results = map_files(data, out, model_file, n_workers=1)
        assert [result.skipped for result in results].count(True) == len(done)
        assert all((out / name).stat().st_mtime_ns == stamp for name, stamp in done.items())
        map_files(data, tmp_path / "quiet", model_file, n_workers=1)
    finally:
        plan.PART_ROWS = plan_rows
    assert contents(out) == contents(tmp_path / "quiet")
    rows = np.concatenate([table.column("row").to_numpy() for table in contents(out).values()])
    np.testing.assert_array_equal(rows, np.arange(60_000))


@pytest.mark.linux
def test_workers_end_with_a_killed_parent(tmp_path):
    code = (
        "import sys; from pathlib import Path; from prismap.scale._run import run_pool\n"
        "from prismap.scale._records import Part; from scale.helpers import sleeps\n"
        "parts = [Part(Path(name), Path(sys.argv[1]) / name) for name in 'ab']\n"
        "if __name__ == '__main__': list(run_pool(parts, sleeps, 2))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), *sys.path])}
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=environment) as process:
        pids = wait_for(
            lambda: [int(path.read_text() or 0) for path in tmp_path.iterdir()], lambda pids: len(pids) == 2
        )
        process.send_signal(signal.SIGKILL)
    alive = wait_for(lambda: [pid for pid in pids if is_alive(pid)], lambda alive: not alive)
    assert alive == []


def wait_for(look, good, seconds=20.0):
    end = time.monotonic() + seconds
    while not good(found := look()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def is_alive(pid):
    """Whether a process runs; one that has ended may still be listed until its new parent looks."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_dask_gives_the_same(folder, model, undisturbed, tmp_path):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    options["scheduler_kwargs"] = {"dashboard_address": "127.0.0.1:0"}  # any port: other runs may have the usual one
    with distributed.LocalCluster(**options) as cluster:
        (folder / "bad.parquet").write_bytes(b"PAR1 no PAR1")
        results = map_files(folder, tmp_path / "out", model, engine="dask", address=cluster.scheduler_address)
    assert [result.error is None for result in results] == [True, True, False, True]
    assert contents(tmp_path / "out") == undisturbed


def test_a_damaged_file_is_named_and_the_rest_done(folder, model_file, undisturbed, tmp_path):
    good = (folder / "b.parquet").read_bytes()
    (folder / "b.parquet").write_bytes(good[:100] + bytes(200) + good[300:])
    first = map_files(folder, tmp_path / "out", model_file, n_workers=1)
    assert [result.error is None for result in first] == [True, False, True]
    assert f"{folder / 'b.parquet'} cannot be read as parquet" in first[1].error
    (folder / "b.parquet").write_bytes(good)
    second = map_files(folder, tmp_path / "out", model_file, n_workers=1)
    assert [(result.skipped, result.error) for result in second] == [(True, None), (False, None), (True, None)]
    found = contents(tmp_path / "out")
    assert found == undisturbed


def test_sources_and_outputs(folder, model_file, tmp_path):
    (folder / "year=1").mkdir()
    (folder / "a.parquet").rename(folder / "year=1" / "a.parquet")
    write_rows(folder / "empty.parquet", 0, 1)
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.parquet").touch()
    out = folder / "out"
    parts = plan.plan(folder, out)
    assert [part.out.relative_to(out).as_posix() for part in parts] == ["b.parquet", "c.parquet", "year=1/a.parquet"]
    plan.prepare_folder(out, parts)
    write_rows(out / "b.parquet", 5, 1)
    assert plan.plan(folder, out) == parts  # outputs are no sources
    assert [part.source.name for part in plan.plan(str(folder / "?.parquet"), out)] == ["b.parquet", "c.parquet"]
    assert len(plan.plan([folder / "b.parquet", str(folder / "b.parquet")], out)) == 1
    (out / "other.parquet").touch()
    with pytest.raises(InputError, match=r"not of this run \(other.parquet\)"):
        map_files(folder, out, model_file)
    (folder / "b.csv").write_text("x0\n1\n")
    with pytest.raises(InputError, match="would both be written to"):
        map_files(folder, tmp_path / "two", model_file)
    with pytest.raises(InputError, match="is one of the files to read"):
        map_files(folder / "c.parquet", folder, model_file)
    for sources in (folder / "x.parquet", str(folder / "x*"), []):
        with pytest.raises(InputError, match="no (data )?file"):
            map_files(sources, tmp_path / "two", model_file)
    with pytest.raises(InputError, match="engine must be"):
        map_files(folder, out, model_file, engine="spark")
    with pytest.raises(InputError, match="is for engine='dask'"):
        map_files(folder, out, model_file, address="tcp://here:1")


def test_files_on_several_drives_have_no_common_folder(tmp_path, monkeypatch):
    write_rows(tmp_path / "a.parquet", 5, 1)
    monkeypatch.setattr(plan.os.path, "commonpath", lambda _: ntpath.commonpath(["C:\\a", "D:\\b"]))
    with pytest.raises(InputError, match="on different drives"):
        plan.plan(tmp_path / "a.parquet", tmp_path / "out")


def test_a_large_file_is_split_between_row_groups(tmp_path, model_file, monkeypatch):
    monkeypatch.setattr(plan, "PART_ROWS", 25)
    X = write_rows(tmp_path / "in.parquet", 60, 1, row_group_size=10)
    results = map_files(tmp_path / "in.parquet", tmp_path / "out", model_file, n_workers=1)
    assert [os.path.basename(result.out) for result in results] == [f"part-0000{i}.parquet" for i in range(3)]
    assert [result.rows for result in results] == [20, 20, 20]
    whole = parquet.read_table(tmp_path / "out")
    assert whole.column("row").to_pylist() == list(range(60))
    from prismap.map import PrisMap

    expected = PrisMap.load(model_file).transform(X)
    np.testing.assert_allclose(np.transpose([whole["x"], whole["y"]]), expected, rtol=1e-5)
    assert attempt(plan.plan(tmp_path / "in.parquet", tmp_path / "out")[1], path=str(model_file),
                   mark=fingerprint(model_file), resume=True).skipped  # fmt: skip


def test_two_runs_into_one_folder_do_not_delete_each_others_files(folder, model_file, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    beside = out / ".other.0123abcd.parquet"  # a run of one file into the same folder
    beside.write_bytes(b"PAR1")
    refused = []

    def meanwhile(progress):
        if not refused:
            (out / ".b.0123abcd.parquet").write_bytes(b"PAR1")
            with pytest.raises(InputError, match="another run is writing into") as error:
                map_files(folder, out, model_file, n_workers=1)
            refused.append(error)
            assert (out / ".b.0123abcd.parquet").exists()

    results = map_files(folder, out, model_file, n_workers=1, progress=meanwhile)
    assert [result.error for result in results] == [None] * 3
    assert refused
    assert beside.exists()
    assert sorted(path.name for path in out.iterdir()) == [beside.name, "a.parquet", "b.parquet", "c.parquet"]


def test_a_disk_without_room_is_said_before_the_work(folder, model_file, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "disk_usage", lambda _: type("Usage", (), {"free": 100}))
    with pytest.raises(InputError, match="0 MiB left, and the rows of this run need"):
        map_files(folder, tmp_path / "out", model_file, n_workers=1)
