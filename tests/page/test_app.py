"""The live explorer over HTTP: what it answers, and whom it refuses."""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import quote

import numpy as np
import pytest

from page.client import Client
from prismap.exceptions import InputError
from prismap.page import ModelCompute, Placed
from prismap.page._app import STATE_FILE, make_app
from prismap.page._compute import WAITING_AT_MOST
from prismap.page._folder import load_folder
from prismap.page._packing import unpack


class FakeCompute:
    """Answers at once, or when told to."""

    supervision = 0.5

    def __init__(self):
        self.release = threading.Event()
        self.stopped = threading.Event()

    def transform(self, path):
        rows = path.read_text().splitlines()
        if rows[0] != "size":
            raise InputError("the file lacks 1 of the 1 columns of the map: -'size'.")
        n = len(rows) - 1
        return Placed(np.zeros((n, 2)), np.arange(n) == 0, [f"new {i}" for i in range(n)], ["a note"])

    def relevance(self, rows, *, progress, cancel):
        if 11 in rows:
            raise RuntimeError("secret detail")
        return ["size", "city"], np.array([len(rows), np.nan])

    def reembed(self, supervision, *, start, progress, cancel):
        for step in range(20_000):
            progress(step / 20_000, start + supervision)
            if self.release.wait(0.01):
                break
            if cancel():
                self.stopped.set()
        return start + supervision


@pytest.fixture
def compute():
    return FakeCompute()


@pytest.fixture
def client(small_map, compute):
    with Client(make_app(small_map, compute)) as made:
        yield made
        compute.release.set()


def wait_until(look, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it did not happen in time")


def job_state(client, name, *states):
    def look():
        answer = client.get(f"/api/jobs/{name}").json()
        return answer if answer["state"] in states else None

    return wait_until(look)


# Showing


def test_the_page_comes_with_its_policy_and_without_data(client, small_map):
    answer = client.get("/")
    assert answer.status_code == 200
    assert "connect-src 'self'" in answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers
    assert 'data-mode="live"' in answer.text
    assert client.app.state.token not in answer.text


def test_data_come_without_columns_and_columns_when_asked_for(client, small_map):
    header, arrays = unpack(client.get("/api/page").content)
    assert header["columns"] == []
    assert header["live"]["columns"] == [{"name": "size", "kind": "number"}, {"name": "city", "kind": "text"}]
    assert header["live"]["transform"] is header["live"]["reembed"] is header["live"]["relevance"] is True
    assert header["live"]["supervision"] == 0.5
    np.testing.assert_array_equal(arrays[header["layers"][0]["positions"]["offset"]], small_map.layers[0].positions)
    (column,) = unpack(client.get("/api/columns/1/1").content)[0]["columns"]
    assert column["texts"] == ["=1+1", "Ulm"]
    both = unpack(client.get("/api/columns/0/2").content)[0]["columns"]
    assert [one["name"] for one in both] == ["size", "city"]
    for wrong in ("2/1", "0/3", "0/0", "-1/1", "0/100000", "0"):
        assert client.get(f"/api/columns/{wrong}").status_code == 404


def test_without_compute_nothing_is_offered_and_nothing_done(small_map):
    with Client(make_app(small_map)) as client:
        live = unpack(client.get("/api/page").content)[0]["live"]
        assert (live["transform"], live["relevance"], live["reembed"]) == (False, False, False)
        for path, body in (("place", "size\n1"), ("jobs", '{"kind": "reembed", "supervision": 1}')):
            answer = client.post(f"/api/{path}", content=body)
            assert answer.status_code == 409
            assert "without its model" in answer.json()["error"]


def test_making_the_map_is_shown_until_it_is_there(small_map, compute):
    go = threading.Event()

    def make(progress):
        progress(0.25, "fitting")
        go.wait(60)
        return small_map, compute

    with Client(make_app(make)) as client:
        waiting = wait_until(lambda: (a := client.get("/api/page")).json()["message"] == "fitting" and a)
        assert waiting.status_code == 202
        assert waiting.json()["share"] == 0.25
        assert client.get("/api/columns/0/1").status_code == 409
        go.set()
        wait_until(lambda: client.get("/api/page").status_code == 200)
        assert unpack(client.get("/api/page").content)[0]["live"]["reembed"] is True


def test_a_damaged_folder_is_explained(tmp_path):
    (tmp_path / "map.html").write_text("nonsense")
    with Client(make_app(tmp_path)) as client:
        assert client.get("/").status_code == 200
        answer = wait_until(lambda: (a := client.get("/api/page")).status_code != 202 and a)
        assert answer.status_code == 422
        assert "holds no map that can be shown" in answer.json()["error"]
        assert str(tmp_path) not in answer.json()["error"]


def test_a_restarted_server_remembers_the_view(folder):
    with Client(make_app(folder)) as client:
        wait_until(lambda: client.get("/api/page").status_code == 200)
        assert client.put("/api/view", json={"view": "layer=permuted"}).status_code == 200
    assert sorted(path.name for path in folder.iterdir()) == [STATE_FILE, "map.html", "map.parquet", "report.json"]
    with Client(make_app(folder)) as client:
        wait_until(lambda: client.get("/api/page").status_code == 200)
        assert unpack(client.get("/api/page").content)[0]["live"]["view"] == "layer=permuted"
        (folder / STATE_FILE).write_text("{broken")
        assert unpack(client.get("/api/page").content)[0]["live"]["view"] == ""


def test_a_folder_that_cannot_keep_the_view_is_still_shown(folder):
    (folder / STATE_FILE).mkdir()
    with Client(make_app(folder)) as client:
        wait_until(lambda: client.get("/api/page").status_code == 200)
        assert client.put("/api/view", json={"view": "layer=permuted"}).status_code == 200
        assert unpack(client.get("/api/page").content)[0]["live"]["view"] == ""


def test_views_that_are_none_are_refused(client):
    for body in (b"{", b"[]", b'{"view": 3}', json.dumps({"view": "x" * 70_000}).encode()):
        assert client.put("/api/view", content=body).status_code == 400


# Rows out and in


def test_exported_rows_are_exact_and_harmless(client, small_map):
    answer = client.post("/api/export", json={"rows": [2, 5], "layer": "permuted"})
    assert answer.headers["content-disposition"] == 'attachment; filename="rows.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8"), newline="")))
    assert [row["row"] for row in rows] == ["2", "5"]
    assert {row["kind"] for row in rows} == {"'=c"}
    assert {row["city"] for row in rows} == {"'=1+1"}
    assert [float(row["x"]) for row in rows] == pytest.approx(small_map.layers[1].positions[[2, 5], 0])
    assert client.post("/api/export", json={"rows": "all"}).text.count("\r\n") == 13


@pytest.mark.parametrize("rows", [[12], [-1], ["1"], [True], [1.0], {"a": 1}, None])
def test_impossible_rows_are_refused(client, rows):
    assert client.post("/api/export", json={"rows": rows}).status_code == 400


def test_dropped_rows_become_rows_of_the_page(client):
    answer = client.post("/api/place", content="size\n1\n2\n").json()
    assert answer == {"rows": 2, "far": 1, "notes": ["a note"]}
    header, arrays = unpack(client.get("/api/page").content)
    assert header["n"] == 14
    assert header["ids"][-2:] == ["new 0", "new 1"]
    assert arrays[header["layers"][0]["positions"]["offset"]][-2:].tolist() == [[0, 0], [0, 0]]
    assert arrays[header["far"]["offset"]][-2:].tolist() == [1, 0]
    assert header["split"]["texts"][arrays[header["split"]["codes"]["offset"]][-1]] == "new"
    lines = list(csv.reader(io.StringIO(client.post("/api/export", json={"rows": [12]}).text)))
    assert lines[1][0] == "new 0"
    client.post("/api/place", content="size\n1\n")  # another file takes their place
    assert unpack(client.get("/api/page").content)[0]["n"] == 13
    assert client.post("/api/jobs", json={"kind": "relevance", "rows": [12]}).status_code == 400
    assert client.delete("/api/place").status_code == 200
    assert unpack(client.get("/api/page").content)[0]["n"] == 12


def test_placed_rows_have_no_place_on_a_map_made_again(client, compute):
    compute.release.set()
    client.post("/api/place", content="size\n1\n2\n")
    job = client.post("/api/jobs", json={"kind": "reembed", "supervision": 0.5}).json()["id"]
    while client.get(f"/api/jobs/{job}").json()["state"] in ("waiting", "running"):
        time.sleep(0.01)
    header, arrays = unpack(client.get(f"/api/jobs/{job}/positions").content)
    positions = arrays[header["positions"]["offset"]]
    assert positions.shape == (14, 2)
    assert np.isfinite(positions[:12]).all()
    assert np.isnan(positions[12:]).all()


@pytest.mark.parametrize("groups", [None, [[0, 1]], [[0], ["a"]], [[0, 99], [1, 2]], [[0]] * 13])
def test_impossible_groups_are_refused(client, compute, groups):
    compute.shape = lambda *_, **__: None
    assert client.post("/api/jobs", json={"kind": "shape", "groups": groups}).status_code == 400


def test_a_dropped_file_that_does_not_fit_is_explained(client):
    answer = client.post("/api/place", content="weight\n1\n")
    assert answer.status_code == 422
    assert "lacks 1 of the 1 columns" in answer.json()["error"]
    assert client.post("/api/place", content="  \n").status_code == 400


def test_a_model_places_rows_through_its_own_encoding(small_map):
    class Model:
        extra_header_ = {}
        feature_names_in_ = np.array(["size", "weight"])

        def place(self, X):
            asked.append(len(X))
            return X * 2, X[:, 0] > 5

    asked = []
    with Client(make_app(small_map, ModelCompute(Model(), small_map))) as client:
        live = unpack(client.get("/api/page").content)[0]["live"]
        assert (live["transform"], live["relevance"], live["reembed"]) == (True, False, False)
        assert client.post("/api/place", content="weight,size\n1,9\n3,4\n").json()["far"] == 1
        header, arrays = unpack(client.get("/api/page").content)
        assert arrays[header["layers"][0]["positions"]["offset"]][-2:].tolist() == [[18, 2], [8, 6]]
        assert asked == [2], "the rows of a file are placed once"
        refused = client.post("/api/place", content="size\n1\n2\n")
        assert "'weight'" in refused.json()["error"]
        assert client.post("/api/place", content=b"\xff\xfe\x00\x01binary\x00").status_code == 422


def table_bytes(ending):
    """Two rows of a size and a weight as a file of some kind."""
    frame = pytest.importorskip("pandas").DataFrame({"size": [9.0, 4.0], "weight": [1.0, 3.0]})
    buffer = io.BytesIO()
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(buffer, index=False)
    elif ending == "parquet":
        frame.to_parquet(buffer)
    elif ending == "csv":
        frame.to_csv(buffer, index=False)
    else:
        frame.to_json(buffer, orient="records", lines=ending == "jsonl")
    return buffer.getvalue()


class SizeAndWeight:
    extra_header_ = {}
    feature_names_in_ = np.array(["size", "weight"])

    def place(self, X):
        return X * 2, X[:, 0] > 5


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet", "json", "jsonl"])
def test_tables_of_all_kinds_can_be_dropped(small_map, ending):
    with Client(make_app(small_map, ModelCompute(SizeAndWeight(), small_map))) as client:
        answer = client.post(f"/api/place?name=new%20rows.{ending}", content=table_bytes(ending))
        assert answer.json() == {"rows": 2, "far": 1, "notes": []}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("my rows.csv", "my rows.csv"),
        ("../../etc/rows.csv", "rows.csv"),
        ("C:\\a\\<b>.csv", "_b_.csv"),
        ("é.csv", "é.csv"),
    ],
)
def test_messages_name_the_file_and_no_folder(small_map, name, shown):
    with Client(make_app(small_map, ModelCompute(SizeAndWeight(), small_map))) as client:
        answer = client.post(f"/api/place?name={quote(name)}", content=b"size,weight\n")
        assert answer.status_code == 422
        assert shown in answer.json()["error"]
        assert "prismap-" not in answer.json()["error"]
        assert tempfile.gettempdir() not in answer.json()["error"]


@pytest.mark.parametrize("name", ["rows.exe", "", ".csv/", "picture.png", "csv"])
def test_files_that_are_no_tables_are_refused(small_map, name):
    with Client(make_app(small_map, ModelCompute(SizeAndWeight(), small_map))) as client:
        answer = client.post(f"/api/place?name={quote(name)}", content=b"size,weight\n1,2\n")
        assert answer.status_code == 415
        assert ".parquet" in answer.json()["error"]


def test_local_relevance_looks_at_standardised_numeric_columns(small_map):
    seen = {}

    def relevance(X, Y, rows):
        seen.update(X=X, Y=Y, rows=rows)
        return np.array([0.5])

    compute = ModelCompute(object(), small_map, relevance=relevance)
    names, values = compute.relevance(np.array([1, 2]), progress=lambda _: None, cancel=lambda: False)
    assert list(names) == ["size"]
    assert values.tolist() == [0.5]
    np.testing.assert_allclose([seen["X"].mean(), seen["X"].std()], [0, 1], atol=1e-12)
    assert seen["Y"].shape == (12, 2)


# Long work


def test_reembedding_shows_its_way_and_ends(client, compute, small_map):
    started = client.post("/api/jobs", json={"kind": "reembed", "supervision": 0.25}).json()
    wait_until(lambda: client.get(f"/api/jobs/{started['id']}").json()["step"] > 1)
    header, arrays = unpack(client.get(f"/api/jobs/{started['id']}/positions").content)
    np.testing.assert_allclose(arrays[header["positions"]["offset"]], small_map.layers[0].positions + 0.25)
    compute.release.set()
    assert job_state(client, started["id"], "done")["share"] == 1.0
    again = client.post("/api/jobs", json={"kind": "reembed", "supervision": 1, "job": started["id"]}).json()
    job_state(client, again["id"], "done")
    header, arrays = unpack(client.get(f"/api/jobs/{again['id']}/positions").content)
    np.testing.assert_allclose(arrays[header["positions"]["offset"]], small_map.layers[0].positions + 1.25, rtol=1e-5)


def test_reembedding_can_be_stopped(client, compute):
    started = client.post("/api/jobs", json={"kind": "reembed", "supervision": 1}).json()
    job_state(client, started["id"], "running")
    client.delete(f"/api/jobs/{started['id']}")
    job_state(client, started["id"], "stopped")


def test_two_browsers_do_not_disturb_each_other(client, compute):
    one = client.post("/api/jobs", json={"kind": "reembed", "supervision": 0.1}).json()["id"]
    two = client.post("/api/jobs", json={"kind": "reembed", "supervision": 0.9}).json()["id"]
    client.delete(f"/api/jobs/{one}")
    job_state(client, one, "stopped")
    assert client.get(f"/api/jobs/{two}").json()["state"] in ("waiting", "running")
    compute.release.set()
    job_state(client, two, "done")
    header, arrays = unpack(client.get(f"/api/jobs/{two}/positions").content)
    positions = arrays[header["positions"]["offset"]]
    first, arrays = unpack(client.get("/api/page").content)
    np.testing.assert_allclose(positions - arrays[first["layers"][0]["positions"]["offset"]], 0.9, rtol=1e-5)


def test_relevance_answers_with_names_and_values(client):
    started = client.post("/api/jobs", json={"kind": "relevance", "rows": [0, 1, 2]}).json()
    assert job_state(client, started["id"], "done")["result"] == {"names": ["size", "city"], "values": [3.0, 0.0]}


def test_a_failing_job_says_so_without_its_insides(client):
    started = client.post("/api/jobs", json={"kind": "relevance", "rows": [11]}).json()
    answer = job_state(client, started["id"], "failed")
    assert "secret" not in answer["message"]
    assert "terminal" in answer["message"]


def test_only_so_much_work_is_taken(client):
    names = [
        client.post("/api/jobs", json={"kind": "reembed", "supervision": 0.5}).json()["id"]
        for _ in range(WAITING_AT_MOST)
    ]
    assert client.post("/api/jobs", json={"kind": "reembed", "supervision": 0.5}).status_code == 429
    for name in names:
        client.delete(f"/api/jobs/{name}")
    job_state(client, names[-1], "stopped")


@pytest.mark.parametrize(
    "body",
    ['{"kind": "reembed", "supervision": 2}', '{"kind": "reembed", "supervision": "1"}', '{"kind": "delete"}', "[1]",
     "{", '{"kind": "relevance", "rows": []}', '{"kind": "reembed", "supervision": true}',
     '{"kind": "reembed", "supervision": 1, "layer": "../x"}', "[" * 100_000],
    ids=lambda body: body[:60],
)  # fmt: skip
def test_work_that_makes_no_sense_is_refused(client, body):
    answer = client.post("/api/jobs", content=body)
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}


def test_jobs_that_are_none(client):
    assert client.get("/api/jobs/unknown").status_code == 404
    assert client.delete("/api/jobs/unknown").status_code == 404
    started = client.post("/api/jobs", json={"kind": "relevance", "rows": [1]}).json()
    assert client.get(f"/api/jobs/{started['id']}/positions").status_code == 404


# Whom it refuses


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:8123", "evil.example:8123", "", "127.0.0.1@evil"]
)
def test_a_foreign_host_is_refused(client, host):
    answer = client.get("/api/page", headers={"Host": host})
    assert answer.status_code == 400
    assert "local name" in answer.json()["error"]


@pytest.mark.parametrize("host", ["127.0.0.1:8123", "localhost:9", "[::1]:1", "localhost"])
def test_local_names_are_fine(client, host):
    assert client.get("/api/page", headers={"Host": host, "Origin": f"http://{host}"}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:8123", "http://127.0.0.1:9999", ""]
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_a_foreign_origin_is_refused(client, origin, method):
    assert client.request(method, "/api/export", headers={"Origin": origin}).status_code == 403


def test_a_missing_origin_may_look_but_not_touch(client):
    del client.headers["Origin"]
    assert client.get("/api/page").status_code == 200
    for method, path in (
        ("POST", "export"),
        ("POST", "place"),
        ("POST", "jobs"),
        ("PUT", "view"),
        ("DELETE", "jobs/x"),
    ):
        assert client.request(method, f"/api/{path}", content=b"{}").status_code == 403


@pytest.mark.parametrize("token", [None, "", "wrong"])
def test_a_missing_or_wrong_token_is_refused(client, token):
    del client.headers["X-Prismap-Token"]
    headers = {} if token is None else {"X-Prismap-Token": token}
    for path in ("/api/page", "/api/columns/0", "/api/jobs/x", "/nowhere"):
        assert client.get(path, headers=headers, params={"token": client.app.state.token}).status_code == 403
    assert client.get("/", params={"token": token or ""}).status_code == 403
    assert client.post("/api/place", headers=headers, content=b"size\n1\n").status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/static/../page.py",
        "/api/columns/../../x",
        "/map.html",
        "/%2e%2e/",
    ],
)
def test_no_path_leads_to_a_file(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert set(answer.json()) == {"error"}


def test_too_much_is_refused_whether_it_says_so_or_not(small_map, compute):
    with Client(make_app(small_map, compute, max_body=1000)) as client:
        assert client.post("/api/place", content=b"x" * 1001).status_code == 413
        assert client.post("/api/place", content=b"size\n1\n", headers={"Content-Length": "5000"}).status_code == 413

        async def endless():
            for _ in range(10):
                yield b"x" * 500

        answer = client.post("/api/place", content=endless())
        assert answer.status_code == 413
        assert "MB" in answer.json()["error"]
        assert client.post("/api/place", content=b"size\n1\n", headers={"Content-Length": "-5"}).status_code in (
            400,
            413,
        )


def test_methods_that_are_none(client):
    assert client.request("PATCH", "/api/page").status_code == 405
    assert client.delete("/api/page").status_code == 405


def test_unexpected_trouble_has_no_traceback(small_map):
    class Broken:
        def transform(self, path):
            raise ZeroDivisionError(str(path))

    with Client(make_app(small_map, Broken())) as client:
        answer = client.post("/api/place", content="size\n1\n")
        assert answer.status_code == 500
        assert set(answer.json()) == {"error"}
        assert "Traceback" not in answer.text
        assert "prismap-" not in answer.text


def test_two_apps_share_nothing(small_map, compute):
    one, two = make_app(small_map), make_app(small_map, compute)
    assert one.state.token != two.state.token
    with Client(one) as client:
        assert client.get("/api/page", headers={"X-Prismap-Token": two.state.token}).status_code == 403


# The token and its cookie


def test_the_token_is_swapped_for_a_cookie_at_first_use(client):
    del client.headers["X-Prismap-Token"]
    assert client.get("/").status_code == 403
    answer = client.get("/", params={"token": client.app.state.token})
    assert answer.status_code == 303
    assert answer.headers["location"] == "./"
    assert client.app.state.token not in str(answer.headers)
    cookie, *attributes = answer.headers["set-cookie"].split("; ")
    assert attributes == ["Path=/", "HttpOnly", "SameSite=Lax"]
    assert cookie.startswith("prismap-8123=")
    for path in ("/", "/api/page"):
        assert client.get(path, headers={"Cookie": f"other=1; {cookie}"}).status_code == 200
        assert client.get(path, headers={"Cookie": cookie[:-1]}).status_code == 403
        assert client.get(path, headers={"Cookie": cookie.replace("8123", "8124")}).status_code == 403
    wrong_page = {"Cookie": cookie, "Origin": "http://127.0.0.1:9999"}
    assert client.get("/api/page", headers=wrong_page).status_code == 403


def test_the_cookie_is_a_secret_of_its_own(client):
    answer = client.get("/", params={"token": client.app.state.token})
    session = answer.headers["set-cookie"].split(";")[0].partition("=")[2]
    del client.headers["X-Prismap-Token"]
    assert client.get("/api/page", headers={"X-Prismap-Token": session}).status_code == 403
    assert client.get("/", params={"token": session}).status_code == 403


def test_requests_at_once_have_a_limit(client, monkeypatch):
    monkeypatch.setattr("prismap.page._security.MOST_AT_ONCE", 0)
    assert client.get("/api/page").status_code == 503
    monkeypatch.setattr("prismap.page._security.MOST_AT_ONCE", 1)
    for _ in range(3):  # what is answered makes room again
        assert client.get("/api/page").status_code == 200


# Odd text, and files that nobody should find


@pytest.mark.parametrize("view", ["\\ud800", "a\\udfffb"])
def test_half_a_character_in_the_kept_view_is_no_view(folder, view):
    body = f'{{"view": "{view}"}}'
    (folder / "explorer.json").write_text(body)
    with Client(make_app(load_folder(folder), folder=folder)) as client:
        assert client.get("/api/page").status_code == 200
        assert client.put("/api/view", content=body).status_code == 400


@pytest.mark.posix
def test_a_dropped_file_leaves_nothing_if_the_server_is_killed(tmp_path):
    """Everything that is in the folder for temporary files while the rows are read is without content of its own."""
    code = """
import os, signal, sys
from pathlib import Path
from prismap.page._app import _place
def transform(path):
    assert path.read_bytes() == b"secret,1", path
    assert path.suffix == ".csv"
    os.kill(os.getpid(), signal.SIGKILL)
_place(transform, b"secret,1")
"""
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == -9
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert left == [] or not hasattr(os, "memfd_create")
