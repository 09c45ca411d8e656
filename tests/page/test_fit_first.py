"""`prismap explore DATA`: the page stands at once, follows the fit, and shows the map or why there is none."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from page.client import Client
from prismap import PrisMap
from prismap.cli import explore
from prismap.cli.console import Console
from prismap.cli.main import build_parser
from prismap.exceptions import InputError
from prismap.page._app import make_app
from prismap.page._packing import unpack


@pytest.fixture
def data(tmp_path):
    """Two classes of twelve pictures of two by two pixels, and a name for each."""
    rng = np.random.default_rng(0)
    kind = np.arange(24) % 2
    X = rng.normal(size=(24, 4)) + 4 * kind[:, None]
    lines = [f"r{i},{','.join(f'{v:.3f}' for v in row)},{'ab'[kind[i]]}" for i, row in enumerate(X)]
    path = tmp_path / "cards.csv"
    path.write_text("\n".join(["name,p1,p2,p3,p4,suit", *lines]))
    return path


def source(*words):
    """What the command hands to the server."""
    args = build_parser().parse_args(["explore", *map(str, words)])
    return explore._fitted(args, Console(quiet=True))


def ready(client):
    """The answer once nothing is being made any more, and the messages on the way."""
    messages = []
    for _ in range(6000):
        answer = client.get("/api/page")
        if answer.status_code != 202:
            return answer, messages
        messages.append(answer.json()["message"])
        time.sleep(0.02)
    raise AssertionError(messages)


def test_a_data_file_is_fitted_while_the_page_tells_how_far(data):
    told = []
    make = source(data, "--target", "suit", "--id", "name", "--images", "2x2", "--perplexity", "5")
    first, compute, judged = make(lambda share, message="": told.append((share, message)))
    assert [layer.id for layer in first.layers] == ["map"]
    assert first.report is None
    assert "has not been judged" in first.notes[0]
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert (shares[0] > 0, shares[-1] <= 1) == (True, True)
    page = judged(lambda share, message="": told.append((share, message)))
    words = " ".join(message for _, message in told)
    assert all(part in words for part in ("Fitting a map of 24 rows", "iteration", "maps for comparison", "Drawing"))
    assert (page.title, page.target.name, page.images.shape) == ("cards", "suit", (24, 2, 2))
    assert [layer.id for layer in page.layers] == ["map", "unsupervised", "permuted"]
    assert list(page.row_ids)[:2] == ["r0", "r1"]
    placed = compute.transform(data)  # a file like the one it was made of
    np.testing.assert_allclose(placed.positions, page.layers[0].positions, atol=0.05 * np.ptp(page.layers[0].positions))
    with Client(make_app(lambda progress: (page, compute))) as client:
        header, _ = unpack(ready(client)[0].content)
        assert (header["live"]["reembed"], header["live"]["transform"]) == (True, True)
        assert header["live"]["judging"] is None


def test_the_map_is_shown_before_it_is_judged(small_map):
    go = threading.Event()

    def judged(progress):
        progress(0.5, "judging")
        go.wait(60)
        return small_map

    first = replace(small_map, report=None, layers=small_map.layers[:1])
    with Client(make_app(lambda progress: (first, None, judged))) as client:
        header, _ = unpack(ready(client)[0].content)
        assert header["report"] is None
        job = f"/api/jobs/{header['live']['judging']}"
        go.set()
        for _ in range(3000):
            if client.get(job).json()["state"] == "done":
                break
            time.sleep(0.02)
        header, _ = unpack(client.get("/api/page").content)
        assert header["report"] == {"verdict": "The labels show."}
        assert (len(header["layers"]), header["live"]["judging"]) == (2, None)


def test_quick_is_never_judged(data):
    make = source(data, "--target", "suit", "--id", "name", "--perplexity", "5", "--quick")
    page, _, judged = make(lambda share, message="": None)
    assert judged is None
    assert "has not been judged" in page.notes[0]


def test_a_fit_that_fails_is_told_in_the_page(data, monkeypatch):
    def fit(*_, **__):
        raise InputError("these rows make no map.")

    monkeypatch.setattr(PrisMap, "fit", fit)
    with Client(make_app(source(data, "--target", "suit", "--id", "name"))) as client:
        answer, _ = ready(client)
    assert answer.status_code == 422
    assert "these rows make no map" in answer.json()["error"]


def test_mistakes_in_the_file_or_its_columns_are_said_before_there_is_a_server(data, tmp_path):
    with pytest.raises(InputError, match="suite"):
        source(data, "--target", "suite")
    with pytest.raises(InputError, match="--method 'magic' is not known"):
        source(data, "--target", "suit", "--method", "magic")
    with pytest.raises(InputError, match="--images 3x3 needs 9 columns of numbers"):
        source(data, "--target", "suit", "--id", "name", "--images", "3x3")
    with pytest.raises(InputError, match="height and width like 28x28"):
        build_parser().parse_args(["explore", str(data), "--images", "28"])
    with pytest.raises(InputError, match="--images 2x2x3 needs 12 columns of numbers"):
        source(data, "--target", "suit", "--id", "name", "--images", "2x2x3")


def test_a_damaged_model_leaves_the_map_to_look_at_and_the_view_remembered(folder):
    (folder / "model.prismap").write_bytes(b"PK nothing that loads")
    app = make_app(explore._opened(folder, Console(quiet=True)), folder=folder)
    with Client(app) as client:
        header, _ = unpack(ready(client)[0].content)
        assert "shown without its model" in " ".join(header["notes"])
        assert not header["live"]["transform"]
        assert client.put("/api/view", json={"view": "layer=permuted"}).status_code == 200
    with Client(make_app(explore._opened(folder, Console(quiet=True)), folder=folder)) as again:
        assert unpack(ready(again)[0].content)[0]["live"]["view"] == "layer=permuted"
