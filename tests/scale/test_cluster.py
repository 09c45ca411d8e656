"""The cluster of a run lets nobody in, answers no browser, and a scheduler that goes away is said in words."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prismap.exceptions import InputError
from prismap.scale import _run as run
from prismap.scale._records import Part
from prismap.scale._run import private_cluster, run_dask, temporary_security
from scale.helpers import dies_on_b, kills_its_scheduler

distributed = pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")

PARTS = [Part(Path(f"{name}.parquet"), Path(f"{name}-out.parquet")) for name in "acd"]


def listening_ports():
    own = psutil.Process()
    return {
        connection.laddr.port
        for process in (own, *own.children(recursive=True))
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }


def connect(name, security):
    """Knock as a client does, without one: clients that failed are collected later, and may wait for themselves."""

    async def knock():
        options = security.get_connection_args("client") if security is not None else {}
        comm = await distributed.comm.connect(name, timeout=2, **options)
        await comm.close()

    with ThreadPoolExecutor(1) as own_loop:  # tests with a browser leave theirs running in the main thread
        own_loop.submit(lambda: asyncio.run(knock())).result()


def test_a_stranger_is_not_let_in_and_no_port_answers_a_browser():
    before = listening_ports()
    with private_cluster(distributed, 1) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        connect(address, cluster.security)
        for stranger in (None, temporary_security(distributed)):
            for name in (address, address.replace("tls", "tcp")):
                with pytest.raises((OSError, TypeError, RuntimeError)):
                    connect(name, stranger)
        ports = listening_ports() - before
        assert ports
        for port in ports:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as browser:
                browser.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                try:
                    answer = browser.recv(100)
                except OSError:
                    answer = b""
            assert b"HTTP" not in answer
        with distributed.Client(cluster, set_as_default=False) as own:
            assert own.submit(len, "abc").result() == 3
            # Not stopped but never there: a worker that is started again after its death would have a new one.
            assert own.run(has_http_server) == dict.fromkeys(own.run(os.getpid), False)


def has_http_server(dask_worker):
    return hasattr(dask_worker, "http_server")


class Starting:
    """A client that waits for more workers than come."""

    def __init__(self, n_started):
        self.started = {f"worker {k}": {} for k in range(n_started)}

    def wait_for_workers(self, n_workers, timeout):
        assert timeout is not None  # else one that is killed while it starts is waited for without end
        if len(self.started) < n_workers:
            raise TimeoutError

    def scheduler_info(self, n_workers):
        return {"workers": self.started}


def test_workers_that_do_not_start_are_not_waited_for(caplog):
    run._await_workers(Starting(2), 2)
    assert not caplog.messages
    run._await_workers(Starting(1), 2)
    assert caplog.messages == ["1 of 2 workers of Dask have started; the run goes on with them"]
    with pytest.raises(InputError, match="no worker of Dask has started within 90 s; engine='local' works without"):
        run._await_workers(Starting(0), 2)


def test_parts_are_done_on_the_private_cluster():
    results = list(run_dask(PARTS, dies_on_b, None, 1))
    assert sorted((result.source, result.rows, result.error) for result in results) == [
        ("a.parquet", 1, None), ("c.parquet", 1, None), ("d.parquet", 1, None),
    ]  # fmt: skip


def test_without_a_way_to_make_keys_there_is_no_cluster(monkeypatch):
    monkeypatch.setattr(distributed.Security, "temporary", _missing)
    monkeypatch.setattr(run.shutil, "which", lambda _: None)
    with pytest.raises(InputError, match="pip install cryptography.*engine='local' needs neither"):
        list(run_dask(PARTS, dies_on_b, None, 1))


def _missing():
    raise ImportError("cryptography")


def test_keys_of_openssl_leave_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(distributed.Security, "temporary", _missing)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(run.tempfile, "tempdir", None)
    security = temporary_security(distributed)
    assert "PRIVATE KEY" in security.tls_worker_key
    assert security.require_encryption
    assert list(tmp_path.iterdir()) == []


SCHEDULER = """
import distributed
if __name__ == "__main__":
    options = {"processes": False, "protocol": "tcp://", "host": "127.0.0.1", "dashboard_address": None}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options) as cluster:
        print(cluster.scheduler_address, flush=True)
        input()
"""


@pytest.mark.posix
def test_a_scheduler_that_is_lost_is_said_for_each_part():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", SCHEDULER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        address = process.stdout.readline().strip()
        results = list(run_dask(PARTS, kills_its_scheduler, address, 1))
        assert process.wait(timeout=20) == -signal.SIGKILL
    assert len(results) == 3
    assert all("the connection to the Dask scheduler was lost" in result.error for result in results)


def test_an_address_without_a_scheduler_is_named():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{closed.getsockname()[1]}"
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(InputError, match=f"no Dask scheduler to be reached at {address}"),
    ):
        list(run_dask(PARTS, dies_on_b, address, 1))
