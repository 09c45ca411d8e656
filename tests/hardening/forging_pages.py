"""Damaged and forged pages: read and served, or refused in words.

``python -m hardening.forging_pages FOLDER FIRST LAST``. A third of the cases are damaged bytes, which must be noticed.
The others have a header that was changed and a digest that is right.
"""

import base64
import gzip
import json
from pathlib import Path

import numpy as np

from hardening.cases import PLAIN, arguments, changed_plain, in_words, memory_of, run_cases
from hardening.garbling import WORDS, garbled
from page.client import Client
from prismap.bundle._json import seal_bytes
from prismap.exceptions import InputError
from prismap.page import Layer, PageData, Target
from prismap.page._app import make_app
from prismap.page._data import Curve, Neighbors, Raster, Relevance
from prismap.page._folder import load_folder
from prismap.page._message import pack_page, read_page_file


def whole_page():
    """A page that has everything a page can have."""
    rng = np.random.default_rng(0)
    n, positions = 40, rng.normal(size=(40, 2)).astype(np.float32)
    own = Target("class", "q", codes=np.zeros(n, int))
    return PageData(
        [Layer("map", "Map", positions, "a note"), Layer("p", "Permuted", positions, own=own, own_note="why")],
        title="forty rows", target=Target("class", "kind", ["a", "b", "=c"], codes=np.arange(n) % 3),
        columns={
            "size": rng.normal(size=n), "city": ["Ulm", None, "=1+1", "x"] * 10, "day": ["2024-05-01"] * n,
            "time": ["2024-05-01 10:00"] * n, "count": np.arange(n),
        },
        split=["fit"] * 30 + ["placed"] * 10, far=np.arange(n) == 5, quality=np.linspace(0, 1, n),
        misshown=np.arange(n) < 2, report={"verdict": "The labels show.", "scores": [{"name": "x", "value": 0.5}]},
        curves=[Curve("map", np.arange(1.0, 9.0), np.linspace(1, 0, 8))], images=np.zeros((n, 2, 2), np.uint8),
        raster=Raster(np.zeros((3, 4, 4), np.uint8), (0.0, 1.0, 2.0, 3.0), "model", "map"),
        relevance=Relevance(["size", "count"], np.array([0.5, 0.25]), 0.25, 0.125, 0.375),
        row_ids=[f"r{i}" for i in range(n)], notes=("a note",), keywords=["wheat, rain", None] * 20,
        neighbors=Neighbors(np.arange(3, n), np.zeros((n - 3, 2), int), np.ones((n - 3, 2), int)),
    )  # fmt: skip


def forged(message, rng):
    """A message whose header was changed, under a digest that is right; columns may be repeated many times."""
    length = int.from_bytes(message[4:8], "little")
    header = json.loads(message[8 : 8 + length])
    if rng.random() < 0.5:
        header = changed_plain(header, rng)
    else:  # words alone, so that the page can still be read
        parts = [header, *header["layers"], header["target"], *header["columns"], *header["curves"]]
        for _ in range(rng.integers(1, 4)):
            part = parts[rng.integers(len(parts))]
            name = rng.choice([name for name, value in part.items() if isinstance(value, str)])
            part[name] = WORDS[rng.integers(len(WORDS))]
    if rng.random() < 0.1 and isinstance(columns := header.get("columns"), list) and columns:
        one = columns[rng.integers(len(columns))]
        if isinstance(one, dict):
            columns += [{**one, "name": str(k)} for k in range(2000)]
    if rng.random() < 0.2 and isinstance(layers := header.get("layers"), list) and layers:
        layers[0] = {**layers[0], "note": PLAIN[rng.integers(len(PLAIN))]} if isinstance(layers[0], dict) else 1
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    text += b" " * (-len(text) % 8)
    return seal_bytes(message[:4] + len(text).to_bytes(4, "little") + text + message[8 + length : -32])


def serve(page):
    """Show a page in every way; an answer of 500 is a fault of ours."""
    pack_page(page)
    with Client(make_app(page)) as client:
        for path in ("/", "/api/page", f"/api/columns/0/{min(len(page.columns), 8)}"):
            status = client.get(path).status_code
            if status not in (200, 404):
                return f"{path} got {status}"
    return "used"


def main(folder, first, last):
    """Run cases in this process."""
    folder, page = Path(folder), whole_page()
    whole = pack_page(page)
    path = folder / "map.page"

    def use(equal):
        try:
            again = read_page_file(path) if path.exists() else load_folder(folder)
        except InputError as error:
            return in_words(error)
        if equal:
            return "used" if pack_page(again) == whole else "another page"
        return serve(again)

    def run(case):
        rng = np.random.default_rng([23, case])
        if case % 3 == 0:
            message, equal = garbled(whole, rng), True
        else:
            message, equal = forged(whole, rng), False
        (folder / "map.html").unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        if case % 7 == 0:  # inside of the self-contained page, which stands in for the file
            data = base64.b64encode(gzip.compress(message, 1, mtime=0))
            data = garbled(data, rng) if case % 2 else data
            (folder / "map.html").write_bytes(b'<script type="text/plain" id="prismap-data">%s</script>' % data)
        else:
            path.write_bytes(message)
        return use(equal) if case % 10 else memory_of(lambda: use(equal), 64 * len(message))

    run_cases(run, folder, first, last)


if __name__ == "__main__":
    main(*arguments())
