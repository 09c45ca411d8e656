"""`map_files`: many files, or a large one, on all cores or on a cluster; what is done is not done again."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
import subprocess
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import Any

from prismap._util.locks import locked_folder
from prismap._util.optional import import_extra
from prismap._util.threads import n_threads
from prismap.bundle import read_bundle
from prismap.exceptions import InputError
from prismap.map import PrisMap
from prismap.scale._files import attempt, fingerprint, finished, model_path, saved_model
from prismap.scale._plan import plan, prepare_folder, remove_asides
from prismap.scale._records import Mapped, Part, Progress, failed

ENGINES = ("local", "dask")
#: How often a part whose worker dies is tried, the first time included; and how many deaths a run survives.
MOST_TRIES, MOST_DEATHS = 3, 20
#: Seconds that the workers of a private Dask cluster have to start.
START_SECONDS = 90
_DIED = (
    "its worker process died {} times (out of memory, or killed). In a script, the call must stand under "
    "`if __name__ == '__main__':`"
)

log = logging.getLogger(__name__)
Job = Callable[[Part], Mapped]


def map_files(
    sources: Any, out_dir: Any, model: Any, *, keep_columns: bool = False, engine: str = "local",
    address: str | None = None, n_workers: int | None = None, resume: bool = True,
    progress: Callable[[Progress], Any] | None = None,
) -> list[Mapped]:  # fmt: skip
    """Place the rows of many files on a map, in parallel, and write one parquet file for each.

    A file that cannot be read is named in its result and does not stop the others. A large parquet file is split
    between its row groups into parts, each with an output of its own.

    Parameters
    ----------
    sources : a file, a folder (with its sub-folders), a pattern such as ``"data/*.parquet"``, or a list of files.
    out_dir : folder of the outputs, made if needed. Each is there completely or not at all.
    model : a `PrisMap`, or the path of a saved one.
    keep_columns : whether the other columns of the sources are written, too (see `map_file`).
    engine : "local" for processes on this machine, "dask" for a Dask cluster.
    address : address of a Dask scheduler; None starts a cluster on this machine for the run.
    n_workers : processes; None takes the cores there are.
    resume : bool
        Whether outputs that are there, made of the same sources by the same model, are left as they are. The model is
        compared by its content; a source by name, size, time of its last change, and the content of its first and last
        MiB: what else was rewritten with an old time is not seen. ``resume=False`` makes all of them anew.
    progress : called with a `Progress` when something is done.

    Returns
    -------
    list of Mapped : one for each output, in order: rows, far rows, seconds, error.

    Notes
    -----
    Processes are spawned: in a script the call must stand under ``if __name__ == "__main__":``. Each loads the model
    once and works on one thread; memory is the model and one batch per process.
    """
    if engine not in ENGINES:
        raise InputError(f"engine must be 'local' or 'dask'; got {engine!r}.")
    if address is not None and engine != "dask":
        raise InputError(f"address={address!r} is for engine='dask'.")
    out_dir = Path(out_dir).absolute()
    planned = plan(sources, out_dir, objects=compares_objects(model))
    parts = [replace(part, keep_columns=keep_columns) for part in planned]
    prepare_folder(out_dir, parts)
    busy = f"another run is writing into {out_dir}: wait for it, or name another folder."
    with locked_folder(out_dir, refusal=busy), model_file(model, out_dir) as (path, mark):
        remove_asides(parts)
        results = {part: finished(part, mark) if resume else None for part in parts}
        waiting = [part for part, result in results.items() if result is None]
        job = partial(attempt, path=str(path), mark=mark, resume=resume)
        meter = Meter(waiting, progress)
        by_out = {str(part.out): part for part in parts}
        try:
            for result in _run(waiting, job, engine, address, n_workers or n_threads(None), meter):
                results[by_out[result.out]] = result
                meter.finished(result)
        finally:
            remove_asides(parts)
    return [result for result in results.values() if result is not None]


def _run(
    waiting: list[Part], job: Any, engine: str, address: str | None, n_workers: int, meter: Any
) -> Iterator[Mapped]:
    if not waiting:
        return iter(())
    n_workers = min(n_workers, len(waiting))
    if engine == "dask":
        return run_dask(waiting, job, address, n_workers)
    if n_workers == 1:
        return run_here(waiting, partial(job, progress=meter.within))
    return run_pool(waiting, job, n_workers)


def compares_objects(model: Any) -> bool:
    """Whether the rows of a map, or of the file of one, are objects."""
    if isinstance(model, PrisMap):
        return model.map_.data.kind == "objects"
    return "objects" in read_bundle(model_path(model)).arrays


@contextmanager
def model_file(model: Any, out_dir: Path) -> Iterator[tuple[Path, str]]:
    """The path of the model, for worker processes, and its fingerprint. An object is stored beside the outputs."""
    if not isinstance(model, PrisMap):
        path = model_path(model).absolute()
        yield path, fingerprint(path)
        return
    path = saved_model(model, out_dir / ".model.prismap")
    try:
        yield path, fingerprint(path)
    finally:
        with suppress(FileNotFoundError):
            path.unlink()


class Meter:
    """Counts rows and files, and reports them to a function."""

    def __init__(self, parts: list[Part], report: Callable[[Progress], Any] | None) -> None:
        self.begin = perf_counter()
        self.files = len(parts)
        self.expected = sum(part.rows or 0 for part in parts) if all(part.rows for part in parts) else None
        self.report = report
        self.done = self.rows = 0

    def within(self, rows: int) -> None:
        """So many rows of the part at hand are placed."""
        self._report(self.rows + rows)

    def finished(self, result: Mapped) -> None:
        """A part is done."""
        self.done += 1
        self.rows += result.rows
        self._report(self.rows)

    def _report(self, rows: int) -> None:
        if self.report is not None:
            self.report(Progress(self.done, self.files, rows, self.expected, perf_counter() - self.begin))


# --- engines: a generator of results from parts and a picklable job(part) -> Mapped -----------------------------------


def run_here(parts: Iterable[Part], job: Job) -> Iterator[Mapped]:
    """One after the other, in this process."""
    return map(job, parts)


# A pool of processes


def run_pool(parts: Iterable[Part], job: Job, n_workers: int) -> Iterator[Mapped]:
    """In `n_workers` processes. When one dies the pool is made anew; what was lost is done last, one part at a time.

    One at a time, because a pool does not report which of its parts killed it.
    """
    waiting, lost = deque(parts), deque[Part]()
    deaths: Counter[Part] = Counter()
    while waiting and deaths.total() < MOST_DEATHS:
        broken = yield from _drain(waiting, job, min(n_workers, len(waiting)))
        deaths.update(broken)
        lost.extend(broken)
    while lost and deaths.total() < MOST_DEATHS:
        for part in (yield from _drain(lost, job, 1)):
            deaths[part] += 1
            if deaths[part] < MOST_TRIES:
                lost.append(part)
            else:
                yield failed(part, _DIED.format(MOST_TRIES))
    for part in (*lost, *waiting):
        yield failed(part, f"not mapped: too many worker processes died ({deaths.total()})")


def _drain(waiting: deque[Part], job: Job, n_workers: int) -> Any:
    """Run parts until none is waiting or a worker dies; return the parts that were lost with it."""
    running: dict[Any, Part] = {}
    with _workers(n_workers) as pool:
        while waiting or running:
            # No more parts than workers are handed out, so that few are lost together.
            while waiting and len(running) < n_workers:
                try:
                    running[pool.submit(job, waiting[0])] = waiting[0]
                except BrokenProcessPool:
                    return _lost(running.values()) or [waiting.popleft()]
                waiting.popleft()
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    result = future.result()
                except BrokenProcessPool:
                    return _lost(running.values())
                del running[future]
                yield result
    return []


def _lost(parts: Iterable[Part]) -> list[Part]:
    lost = list(parts)
    log.warning("a worker process died; to be tried again: %s", ", ".join(part.out.name for part in lost))
    return lost


@contextmanager
def _workers(n_workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes (no inherited locks or threads) that end at once when this block, or this process, does."""
    context = get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    with reader, writer:
        pool = ProcessPoolExecutor(n_workers, mp_context=context, initializer=_begin_work, initargs=(reader,))
        try:
            yield pool
        finally:
            writer.close()
            pool.shutdown(wait=True, cancel_futures=True)


def _begin_work(reader: Any) -> None:
    """In a worker: ignore Ctrl-C, which the parent handles, and exit when the pipe from the parent is closed.

    The system closes the pipe even of a parent that is killed, so no worker is left behind.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def follow() -> None:
        try:
            reader.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    Thread(target=follow, daemon=True).start()


# Dask


def run_dask(parts: list[Part], job: Job, address: str | None, n_workers: int) -> Iterator[Mapped]:
    """On the cluster at `address`, or on one of `n_workers` processes made for the run.

    Dask repeats the parts of workers that died, and gives up on a part that has killed four. Sources, outputs and
    the model are paths: the workers must see the same folders. Keys for the user's own cluster come from Dask's
    configuration, as for every client of it.
    """
    distributed = import_extra("distributed", extra="distributed", feature="engine='dask'")
    # A client that failed earlier closes when it is collected. In the middle of the start of another one, it would wait
    # for a lock that this one holds, without end.
    gc.collect()
    with ExitStack() as stack:
        cluster = address if address is not None else stack.enter_context(private_cluster(distributed, n_workers))
        client = stack.enter_context(_client(distributed, cluster))
        part_of = dict(zip(client.map(job, parts, pure=False), parts, strict=True))
        for future in distributed.as_completed(list(part_of), loop=client.loop):
            yield _outcome(future, part_of[future])


@contextmanager
def _client(distributed: Any, cluster: Any) -> Iterator[Any]:
    try:
        client = distributed.Client(cluster, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:  # TypeError: a tls:// address without keys
        raise InputError(f"there is no Dask scheduler to be reached at {cluster}: {error}") from error
    try:
        yield client
    finally:
        with suppress(OSError, TimeoutError):  # the scheduler may be gone
            client.close()


def _outcome(future: Any, part: Part) -> Mapped:
    """The result of a part; a part whose scheduler was lost is not mapped, and the next run does it."""
    if future.status == "cancelled":
        return failed(part, "not mapped: the connection to the Dask scheduler was lost")
    error = future.exception()
    return failed(part, repr(error)) if error is not None else future.result()


@contextmanager
def private_cluster(distributed: Any, n_workers: int) -> Iterator[Any]:
    """Workers on this machine that no other user can connect to: mutual TLS with a key of this run, no HTTP server.

    Every user of a machine can reach its ports, and anyone who can connect to a Dask scheduler can run code.
    """
    import dask

    from prismap.scale._dask_worker import ClosedNanny

    options: dict[str, Any] = {
        "distributed.scheduler.http.routes": [], "distributed.worker.http.routes": [],
        "distributed.worker.profile.enabled": False,  # no dashboard shows it
        # At its usual intervals Dask takes 7 % of a core all the time, at these 1 %.
        "distributed.admin.tick.interval": "1s", "distributed.admin.system-monitor.interval": "10s",
        "distributed.worker.memory.monitor-interval": "1s",
    }  # fmt: skip
    with dask.config.set(options), ExitStack() as stack:
        cluster = stack.enter_context(
            distributed.LocalCluster(
                n_workers=0, threads_per_worker=1, worker_class=ClosedNanny, dashboard_address=None,
                silence_logs=logging.ERROR,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                host="127.0.0.1", protocol="tls://", security=temporary_security(distributed),
            )
        )  # fmt: skip
        cluster.scheduler.http_server.stop()  # without a dashboard Dask still listens
        cluster.scale(n_workers)
        with distributed.Client(cluster, set_as_default=False) as client:
            _await_workers(client, n_workers)
        yield cluster


def _await_workers(client: Any, n_workers: int) -> None:
    """Wait until the workers are there; go on with fewer of them if some do not start, and refuse if none does."""
    try:
        client.wait_for_workers(n_workers, timeout=START_SECONDS)
    except TimeoutError as error:
        started = len(client.scheduler_info(n_workers=-1)["workers"])
        if not started:
            raise InputError(
                f"no worker of Dask has started within {START_SECONDS} s; engine='local' works without them."
            ) from error
        log.warning("%d of %d workers of Dask have started; the run goes on with them", started, n_workers)


def temporary_security(distributed: Any) -> Any:
    """A key and a certificate made now, which scheduler, workers and client must all show; never stored.

    By the package cryptography, as Dask does it, else by the command openssl.
    """
    try:
        return distributed.Security.temporary()
    except ImportError:
        key, certificate = _key_by_openssl()
    roles = ("client", "scheduler", "worker")
    return distributed.Security(
        require_encryption=True, tls_ca_file=certificate, **{f"tls_{role}_key": key for role in roles},
        **{f"tls_{role}_cert": certificate for role in roles},
    )  # fmt: skip


def _key_by_openssl() -> tuple[str, str]:
    command = shutil.which("openssl")
    if command is None:
        raise InputError(
            "engine='dask' without address needs keys for its cluster: pip install cryptography, or install the "
            "command openssl. engine='local' needs neither."
        )
    with tempfile.TemporaryDirectory(prefix="prismap-") as folder:  # readable by this user only
        key, certificate = Path(folder) / "key.pem", Path(folder) / "certificate.pem"
        made = subprocess.run(
            [command, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-sha256", "-days", "30",
             "-subj", "/CN=dask-internal", "-keyout", str(key), "-out", str(certificate)],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False,
        )  # fmt: skip
        if made.returncode:
            raise InputError(f"openssl could not make keys for the Dask cluster: {made.stderr.strip()[-300:]}")
        return key.read_text(encoding="ascii"), certificate.read_text(encoding="ascii")
