"""The live explorer as a Starlette application: one map, no globals, every answer a page, bytes or JSON."""

from __future__ import annotations

import itertools
import json
import logging
import os
import re
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from prismap.bundle import written_aside
from prismap.bundle._aside import remove_leftovers
from prismap.exceptions import InputError
from prismap.page._columns import column_array, is_numeric, pack_column
from prismap.page._compute import Job, Jobs, Placed, TooManyJobs
from prismap.page._data import Layer, PageData
from prismap.page._document import content_policy, html_document, page_script
from prismap.page._folder import load_folder
from prismap.page._message import pack_page
from prismap.page._packing import Packer
from prismap.page._rows import csv_chunks, with_new_rows
from prismap.page._security import MAX_BODY, Guard
from prismap.tables import ENDINGS, reader_of

logger = logging.getLogger(__name__)

STATE_FILE = "explorer.json"
STATE_BYTES = 65_536
JSON_BYTES = 16_000_000
MOST_COLUMNS = 64
MOST_GROUPS = 12
CONNECT = "'self'"

Source = PageData | str | Path | Callable[[Callable[..., None]], Any]
"""A page, the folder of a map, or a function that makes ``page`` or ``(page, compute)`` and reports its progress."""


def make_app(
    source: Source,
    compute: Any = None,
    *,
    folder: str | Path | None = None,
    token: str | None = None,
    max_body: int = MAX_BODY,
) -> Any:
    """The application over one map; ``app.state.token`` is what its address needs.

    Parameters
    ----------
    source : PageData, folder, or callable
        A callable gets ``progress(share, message)`` and returns a page, or a page and its compute object; the browser
        shows how far it is. A third thing returned is a function of the same kind: it makes the page with its verdict,
        while the map is already looked at.
    compute : object with some methods of `Compute`, or None
    folder : path or None
        Where the last view is remembered, in a file ``explorer.json``; `source` if that is a folder.
    token : str or None
        The secret of this run; None makes one.
    """
    token = token or secrets.token_urlsafe(24)
    explorer = Explorer(source, compute, folder)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        yield
        explorer.jobs.close()

    app = Starlette(
        routes=[Route(path, handler, methods=[method]) for method, path, handler in explorer.routes()],
        middleware=[Middleware(Guard, token=token, max_body=max_body)],
        exception_handlers={
            Refused: _refused,
            InputError: _wrong_input,
            TooManyJobs: _too_many,
            HTTPException: _http_error,
            ClientDisconnect: _gone,
            Exception: _unexpected,
        },
        lifespan=lifespan,
    )
    app.state.token = token
    app.state.explorer = explorer
    return app


class Refused(Exception):
    """A request that makes no sense, with the status and words of the answer."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Explorer:
    """One map being looked at: its page, what can be computed, the work under way, and the remembered view."""

    def __init__(self, source: Source, compute: Any = None, folder: str | Path | None = None) -> None:
        self.jobs = Jobs()
        self.page: PageData | None = source if isinstance(source, PageData) else None
        self.own: PageData | None = self.page
        """The page without rows that were placed since."""
        self.placed: Placed | None = None
        self.compute = compute
        if folder is None and isinstance(source, (str, Path)):
            folder = source
        self.folder = None if folder is None else Path(folder)
        self.preparing: Job | None = None
        self.judging: Job | None = None
        if self.page is None:
            self.preparing = self.jobs.start(lambda job: self._prepare(source, job), apart=True)

    def routes(self) -> Iterable[tuple[str, str, Any]]:
        """Method, path and handler of everything there is."""
        return (
            ("GET", "/", self.show_page),
            ("GET", "/api/page", self.send_page),
            ("GET", "/api/columns/{first:int}/{count:int}", self.send_columns),
            ("PUT", "/api/view", self.remember_view),
            ("POST", "/api/export", self.export_rows),
            ("POST", "/api/place", self.place_rows),
            ("DELETE", "/api/place", self.remove_rows),
            ("POST", "/api/jobs", self.start_job),
            ("GET", "/api/jobs/{name}", self.look_at_job),
            ("GET", "/api/jobs/{name}/positions", self.send_positions),
            ("DELETE", "/api/jobs/{name}", self.stop_job),
        )

    # Showing

    async def show_page(self, _: Any) -> Any:
        """The HTML; its data follow on request."""
        title = "prismap" if self.page is None else self.page.title
        policy = f"{content_policy(page_script(), CONNECT)}; frame-ancestors 'none'"
        text = html_document(title, mode="live", connect=CONNECT)
        return _response(text, "text/html", {"content-security-policy": policy})

    def send_page(self, _: Any) -> Any:
        """The map, or how far its making is."""
        if self.page is None:
            job = self.preparing
            assert job is not None
            if job.state == "failed":
                raise Refused(422, job.message)
            return _json(job.to_dict(), 202)
        return _response(pack_page(self.page, live=self._offer(self.page)), "application/octet-stream")

    def send_columns(self, request: Any) -> Any:
        """Some columns of values, one after another."""
        page = self._ready()
        first, count = request.path_params["first"], request.path_params["count"]
        if not 0 < count <= MOST_COLUMNS or first + count > len(page.columns):
            raise Refused(404, f"There are {len(page.columns)} columns; at most {MOST_COLUMNS} are sent at once.")
        packer = Packer()
        wanted = itertools.islice(page.columns.items(), first, first + count)
        columns = [pack_column(name, values, packer) for name, values in wanted]
        return _response(packer.finish({"columns": columns}), "application/octet-stream")

    async def remember_view(self, request: Any) -> Any:
        """Keep the view, so that the next start on this folder shows it again."""
        body = await request.body()
        try:
            view = json.loads(body)["view"] if len(body) <= STATE_BYTES else None
        except (ValueError, KeyError, TypeError, RecursionError):
            view = None
        if not _is_text(view):
            raise Refused(400, 'A view is {"view": "..."} and short.')
        self._write_view(view)
        return _json({})

    # Rows out and in

    async def export_rows(self, request: Any) -> Any:
        """Rows as csv."""
        page = self._ready()
        asked = await _read_json(request)
        rows = _row_numbers(asked.get("rows"), page.n_rows)
        layer = self._layer(page, asked)
        headers = {"content-disposition": 'attachment; filename="rows.csv"'}
        return StreamingResponse(csv_chunks(page, layer, rows), media_type="text/csv; charset=utf-8", headers=headers)

    async def place_rows(self, request: Any) -> Any:
        """New rows from a table: they are rows of the page from now on, instead of those placed before.

        The name of the file says how it is read.
        """
        transform = self._ability("transform")
        name = _file_name(request.query_params.get("name", "rows.csv"))
        body = await request.body()
        if not body.strip():
            raise Refused(400, "The file is empty.")
        placed = await run_in_threadpool(_place, transform, body, name)
        self._show(self.own, placed)
        return _json({"rows": len(placed.positions), "far": int(np.sum(placed.far)), "notes": list(placed.notes)})

    async def remove_rows(self, _: Any) -> Any:
        """The map without the rows that were placed on it."""
        self._ready()
        self._show(self.own, None)
        return _json({})

    # Long work

    async def start_job(self, request: Any) -> Any:
        """Re-embed, ask what matters for some rows, or let the map follow groups of rows."""
        page = self._ready()
        asked = await _read_json(request)
        if asked.get("kind") == "reembed":
            work = self._reembedding(page, asked)
        elif asked.get("kind") == "relevance":
            work = self._relevance(page, asked)
        elif asked.get("kind") == "shape":
            work = self._shaping(page, asked)
        else:
            raise Refused(400, 'kind must be "reembed", "relevance" or "shape".')
        return _json(self.jobs.start(work).to_dict(), 202)

    async def look_at_job(self, request: Any) -> Any:
        """How far it is; the answer of a relevance job comes along."""
        job = self._job(request)
        answer = job.to_dict()
        if job.state == "done" and isinstance(job.result, dict):
            answer["result"] = job.result
        return _json(answer)

    def send_positions(self, request: Any) -> Any:
        """Where the rows are by now."""
        job = self._job(request)
        if job.positions is None:
            raise Refused(404, "This job has no positions yet.")
        packer = Packer()
        header = {"positions": packer.add(job.positions), "step": job.step}
        return _response(packer.finish(header), "application/octet-stream")

    async def stop_job(self, request: Any) -> Any:
        """Ask it to stop; it does at its next step."""
        job = self._job(request)
        job.stop.set()
        return _json(job.to_dict())

    def _reembedding(self, page: PageData, asked: dict[str, Any]) -> Callable[[Job], Any]:
        reembed = self._ability("reembed")
        supervision = asked.get("supervision")
        if isinstance(supervision, bool) or not isinstance(supervision, (int, float)) or not 0 <= supervision <= 1:
            raise Refused(400, "supervision must be a number from 0 to 1.")
        start, padded = self._from(page, asked)

        def work(job: Job) -> None:
            job.progress(0.0)
            progress = padded(job)
            progress(1.0, reembed(float(supervision), start=start, progress=progress, cancel=job.stop.is_set))

        return work

    def _shaping(self, page: PageData, asked: dict[str, Any]) -> Callable[[Job], Any]:
        shape = self._ability("shape")
        groups = asked.get("groups")
        if not isinstance(groups, list) or not 2 <= len(groups) <= MOST_GROUPS:
            raise Refused(400, f"groups must be 2 to {MOST_GROUPS} lists of rows.")
        rows = [_row_numbers(group, self._own_rows) for group in groups]
        start, padded = self._from(page, asked)

        def work(job: Job) -> dict[str, Any]:
            job.progress(0.0)
            progress = padded(job)
            positions, names, values = shape(rows, start=start, progress=progress, cancel=job.stop.is_set)
            progress(1.0, positions)
            return {"names": [str(name) for name in names], "values": np.asarray(values).tolist()}

        return work

    def _from(self, page: PageData, asked: dict[str, Any]) -> tuple[NDArray[Any], Callable[[Job], Callable[..., None]]]:
        """Where the map's own rows start from, and a progress that leaves out those that are not part of it."""
        start = np.asarray(self._start_of(page, asked), dtype=np.float32)[: self._own_rows]
        nowhere = np.full((page.n_rows - len(start), 2), np.nan)

        def padded(job: Job) -> Callable[..., None]:
            def progress(share: float, positions: Any = None) -> None:
                job.progress(share, None if positions is None else np.concatenate([positions, nowhere]))

            return progress

        return start, padded

    def _relevance(self, page: PageData, asked: dict[str, Any]) -> Callable[[Job], Any]:
        relevance = self._ability("relevance")
        rows = _row_numbers(asked.get("rows"), page.n_rows)
        rows = rows[rows < self._own_rows]
        if len(rows) == 0:
            raise Refused(400, "rows is empty, or holds only rows that were placed on the map.")

        def work(job: Job) -> dict[str, Any]:
            names, values = relevance(rows, progress=job.progress, cancel=job.stop.is_set)
            answer = {"names": [str(name) for name in names], "values": np.nan_to_num(np.asarray(values)).tolist()}
            if self._has("target_relevance"):
                answer["target"] = self._target_relevance(rows)
            return answer

        return work

    def _target_relevance(self, rows: NDArray[np.intp]) -> dict[str, Any] | None:
        """What changes the target around some rows; None where that is not known."""
        try:
            names, here, everywhere = self.compute.target_relevance(rows)
        except InputError:
            return None
        return {"names": [str(name) for name in names], "values": here.tolist(), "overall": everywhere.tolist()}

    # Parts

    def _prepare(self, source: Any, job: Job) -> None:
        def progress(share: float, message: str = "") -> None:
            job.message = message
            job.progress(share)

        made = load_folder(source) if isinstance(source, (str, Path)) else source(progress)
        page, compute, *more = made if isinstance(made, tuple) else (made, self.compute)
        pack_page(page, live={})  # what cannot be shown fails here, in words
        self.compute = compute
        if more and more[0] is not None:
            self.judging = self.jobs.start(lambda job: self._judge(more[0], job), apart=True)
        self._show(page, None)

    def _judge(self, later: Callable[..., PageData], job: Job) -> None:
        def progress(share: float, message: str = "") -> None:
            job.message = message
            job.progress(share)

        page = later(progress)
        while self.page is None:  # the map itself comes first
            time.sleep(0.01)
        self._show(page, self.placed)

    def _show(self, own: PageData | None, placed: Placed | None) -> None:
        """The page from now on: a map, and rows that were placed on it."""
        assert own is not None
        page = own if placed is None else with_new_rows(own, placed)
        if placed is not None:
            pack_page(page, live={})  # what cannot be shown fails here
        self.own, self.placed, self.page = own, placed, page

    @property
    def _own_rows(self) -> int:
        return 0 if self.own is None else self.own.n_rows

    def _offer(self, page: PageData) -> dict[str, Any]:
        """What the page may do here that a file cannot."""
        columns = [
            {"name": str(name), "kind": "number" if is_numeric(column_array(values)) else "text"}
            for name, values in page.columns.items()
        ]
        abilities = {name: self._has(name) for name in ("transform", "relevance", "reembed", "shape")}
        supervision = float(getattr(self.compute, "supervision", 1.0))
        judging = None if self.judging is None or self.judging.state == "done" else self.judging.id
        return {
            "columns": columns,
            **abilities,
            "judging": judging,
            "supervision": supervision,
            "view": self._read_view(),
        }

    def _has(self, name: str) -> bool:
        return callable(getattr(self.compute, name, None))

    def _ability(self, name: str) -> Any:
        self._ready()
        if not self._has(name):
            raise Refused(409, "This map was opened without its model, so that cannot be done here.")
        return getattr(self.compute, name)

    def _ready(self) -> PageData:
        if self.page is None:
            raise Refused(409, "The map is not ready yet.")
        return self.page

    def _layer(self, page: PageData, asked: dict[str, Any]) -> Layer:
        wanted = asked.get("layer")
        layer = page.layers[0] if wanted is None else next((one for one in page.layers if one.id == wanted), None)
        if layer is None:
            raise Refused(400, "There is no such layer.")
        return layer

    def _start_of(self, page: PageData, asked: dict[str, Any]) -> NDArray[Any]:
        """Positions to begin from: those another job has come to, or a layer's."""
        job = self.jobs.get(str(asked.get("job")))
        return self._layer(page, asked).positions if job is None or job.positions is None else job.positions

    def _job(self, request: Any) -> Job:
        job = self.jobs.get(request.path_params["name"])
        if job is None:
            raise Refused(404, "There is no such job (any more).")
        return job

    def _read_view(self) -> str:
        if self.folder is None:
            return ""
        remove_leftovers(self.folder / STATE_FILE)
        try:
            with open(self.folder / STATE_FILE, "rb") as stream:
                view = json.loads(stream.read(STATE_BYTES))["view"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return ""
        return view if _is_text(view) else ""

    def _write_view(self, view: str) -> None:
        if self.folder is None:
            return
        try:
            with written_aside(self.folder / STATE_FILE) as aside:
                aside.write_text(json.dumps({"format": 1, "view": view}), encoding="utf-8")
        except (OSError, InputError):
            # A folder that cannot be written to is still shown; only the view is forgotten.
            logger.info("the view could not be kept in %s", self.folder)


def _is_text(value: Any) -> TypeGuard[str]:
    """Whether a value of JSON is text that can be sent: half a character, as "\\ud800", cannot."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _file_name(name: str) -> str:
    """The name of a file that a browser sent, without any folders; refused if its ending is not that of a table."""
    plain = re.sub(r"[^\w.() -]", "_", name.replace("\\", "/").rpartition("/")[2])[-80:].lstrip(". ")
    if reader_of(Path(plain)) is None:
        raise Refused(415, f"{plain or 'This file'} is no table: its name must end in {', '.join(ENDINGS)}.")
    return plain


def _place(transform: Callable[[Path], Placed], body: bytes, name: str = "rows.csv") -> Placed:
    """Place the rows of a file that was dropped on the page.

    Where the system has files in memory the folder holds only a link to one, so that a server that is killed leaves no
    data behind. Messages name the file as the user does, and not the folder.
    """
    with tempfile.TemporaryDirectory(prefix="prismap-") as folder, ExitStack() as stack:
        path = Path(folder) / name
        if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
            file = stack.enter_context(os.fdopen(os.memfd_create("dropped"), "wb"))
            file.write(body)
            file.flush()
            path.symlink_to(f"/proc/{os.getpid()}/fd/{file.fileno()}")
        else:
            path.write_bytes(body)
        try:
            return transform(path)
        except InputError as error:
            raise InputError(str(error).replace(str(path), name)) from error


async def _read_json(request: Any) -> dict[str, Any]:
    body = await request.body()
    if len(body) > JSON_BYTES:
        raise Refused(413, f"This is more than the {JSON_BYTES // 1_000_000} MB a question may have.")
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "The request is not JSON.") from error
    if not isinstance(asked, dict):
        raise Refused(400, "The request must be a JSON object.")
    return asked


def _row_numbers(rows: Any, n_rows: int) -> NDArray[np.intp]:
    """Row numbers a browser sent, checked; "all" stands for all."""
    if rows == "all":
        return np.arange(n_rows)
    if not isinstance(rows, list) or not all(type(row) is int and 0 <= row < n_rows for row in rows):
        raise Refused(400, f"rows must be a list of whole numbers from 0 to {n_rows - 1}.")
    return np.array(rows, dtype=np.intp)


def _response(content: Any, media_type: str, headers: dict[str, str] | None = None) -> Any:
    return Response(content, media_type=media_type, headers=headers)


def _json(content: Any, status: int = 200) -> Any:
    return JSONResponse(content, status_code=status)


async def _refused(_: Any, error: Refused) -> Any:
    return _json({"error": str(error)}, error.status)


async def _wrong_input(_: Any, error: InputError) -> Any:
    return _json({"error": str(error)}, 422)


async def _too_many(_: Any, __: TooManyJobs) -> Any:
    return _json({"error": "Too much is being computed already; stop something or wait."}, 429)


async def _http_error(_: Any, error: Any) -> Any:
    return _json({"error": str(error.detail)}, error.status_code)


async def _gone(_: Any, __: ClientDisconnect) -> Any:
    """The browser has closed its upload and reads no answer: this is for the log of the server alone."""
    return _json({"error": "The upload was closed before its end."}, 400)


async def _unexpected(_: Any, __: Exception) -> Any:
    return _json({"error": "That failed unexpectedly; the terminal that runs prismap has the details."}, 500)
