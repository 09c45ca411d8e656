"""Good and bad requests to a live explorer: answered or refused, and nothing left over of either.

``python -m hardening.asking FOLDER FIRST LAST``. Every tenth request is a good one that must succeed.
"""

import json
import os
import threading
import tracemalloc

import numpy as np

from hardening.cases import arguments, run_cases
from page.client import Client
from prismap.page import Layer, PageData, Placed, Target
from prismap.page._app import make_app

PATHS = (
    "/", "/api/page", "/api/columns/0", "/api/columns/99999999999", "/api/columns/-1", "/api/view", "/api/export",
    "/api/place", "/api/jobs", "/api/jobs/x", "/api/jobs/x/positions", "/../etc/passwd", "/%00", "/api/%ff", "//",
    "/api",
)  # fmt: skip
METHODS = ("GET", "PUT", "POST", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE")
VALUES = (None, True, -1, 0, 3, 10**30, 0.5, "all", "x", [], [0, 1], [-1], [1.5], ["a"], {}, "\ud800", "\0", [[]] * 50)
HEADERS = {
    "Host": ("127.0.0.1:8123", "evil.example", "localhost", "", "127.0.0.1:x", "[::1]:1"),
    "Origin": ("http://127.0.0.1:8123", "http://evil.example", "null", "", "http://127.0.0.1:8124"),
    "Cookie": ("prismap-8123=x", "a=b; c", ";;;=", "x" * 5000),
    "Content-Type": ("application/json", "text/plain", "multipart/form-data; boundary=x", ""),
    "X-Prismap-Token": ("", "wrong", "x" * 9000),
}
#: Answers that a request may get; 500 would be a fault of ours.
ANSWERS = frozenset({200, 202, 303, 400, 403, 404, 405, 409, 413, 422, 429})


class Abilities:
    """Answers at once."""

    def transform(self, path):
        return Placed(np.zeros((len(path.read_bytes().splitlines()), 2)), np.array([False]))

    def relevance(self, rows, *, progress, cancel):
        return ["p"], np.ones(1)

    def reembed(self, supervision, *, start, progress, cancel):
        return start


def small_page():
    """Twelve rows."""
    rng = np.random.default_rng(0)
    positions = rng.normal(size=(12, 2)).astype(np.float32)
    return PageData([Layer("map", "Map", positions)], target=Target("class", "t", ["a", "b"], np.arange(12) % 2),
                    columns={"p": np.arange(12.0)})  # fmt: skip


def request_of(case, token):
    """Method, path, headers and body of a case; the same for the same number."""
    rng = np.random.default_rng([22, case])

    def pick(things):
        return things[rng.integers(len(things))]

    headers = {name: pick(values) for name, values in HEADERS.items() if rng.random() < 0.08}
    if rng.random() < 0.5:
        names = ("kind", "rows", "layer", "view", "supervision", "job")
        asked = {name: pick(VALUES) for name in names if rng.random() < 0.5}
        asked |= {"kind": pick(("reembed", "relevance"))} if rng.random() < 0.5 else {}
        body = json.dumps(asked).encode()
    else:
        body = pick(
            (b"", b"{", b"[" * 5000, rng.bytes(200), b"size\n1\n2\n", b"\xff\xfe", b"null", b'{"view": "\\ud800"}')
        )
    query = pick(("", "", "", f"?token={token}", "?token=x", "?token=%ff&token="))
    return pick(METHODS), pick(PATHS) + query, headers, body


def main(folder, first, last):
    """Run cases in this process; memory, threads and descriptors at the end must be those of the beginning."""
    app = make_app(small_page(), Abilities(), folder=folder, max_body=100_000)
    with Client(app) as client:

        def run(case):
            if case % 10 == 0:
                status = client.get("/api/page").status_code
                return "used" if status == 200 else f"a good request got {status}"
            method, path, headers, body = request_of(case, app.state.token)
            answer = client.request(method, path, headers=headers, content=body)
            if answer.status_code not in ANSWERS:
                return f"{method} {path} got {answer.status_code}"
            return "used" if answer.status_code < 400 else "refused"

        for case in range(200):  # what is made once
            run(case)
        tracemalloc.start()
        before = _left_over()
        run_cases(run, folder, first, last)
        after = _left_over()
        tracemalloc.stop()
    # Jobs that are remembered and their threads have limits; a leak of one descriptor per request would be thousands.
    for what, more in (("descriptors", 20), ("threads", 20), ("bytes", 10_000_000)):
        if after[what] > before[what] + more:
            print(json.dumps({"case": last, "found": f"{after[what] - before[what]} {what} left over"}), flush=True)


def _left_over():
    return {
        "descriptors": len(os.listdir("/proc/self/fd")), "threads": threading.active_count(),
        "bytes": tracemalloc.get_traced_memory()[0],
    }  # fmt: skip


if __name__ == "__main__":
    main(*arguments())
