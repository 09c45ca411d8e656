"""A real server: on 127.0.0.1, at a free port, with a token; killed and started again it shows the same."""

import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from importlib import import_module
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from prismap.exceptions import InputError, MissingExtraError
from prismap.page import make_app, serve
from prismap.page import serve as serve_function
from prismap.page._packing import unpack

START = """
import sys
from prismap.page import serve
serve(sys.argv[1], open_browser=False, announce=lambda address: print(address, flush=True))
"""


@pytest.fixture
def start(request):
    """Start servers; whatever happens, none outlives its test."""

    def run(folder):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen([sys.executable, "-c", START, str(folder)], **pipes)
        request.addfinalizer(process.kill)
        return process, urlsplit(process.stdout.readline().strip())

    return run


def ask(address, method="GET", path="/api/page", **options):
    token = parse_qs(address.query)["token"][0]
    origin = f"http://{address.netloc}"
    headers = {"X-Prismap-Token": token, "Origin": origin}
    for _ in range(1200):
        answer = httpx.request(method, f"{origin}{path}", headers=headers, timeout=60, **options)
        if answer.status_code != 202:
            return answer
        time.sleep(0.05)
    raise AssertionError("the map did not get ready")


@pytest.mark.posix
def test_a_closed_upload_leaves_no_traceback(start, folder):
    process, address = start(folder)
    with process:
        ask(address)
        token = parse_qs(address.query)["token"][0]
        for request in ("PUT /api/view", "POST /api/jobs", "POST /api/place"):
            head = f"{request} HTTP/1.1\r\nHost: {address.netloc}\r\nOrigin: http://{address.netloc}\r\n"
            head += f"X-Prismap-Token: {token}\r\nContent-Length: 1000\r\n\r\nhalf"
            with socket.create_connection((address.hostname, address.port)) as connection:
                connection.sendall(head.encode())
        assert ask(address).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[1] == ""


@pytest.mark.posix
def test_a_killed_server_starts_again_with_the_same_view(start, folder):
    process, address = start(folder)
    with process:
        assert address.hostname == "127.0.0.1"
        before = unpack(ask(address).content)[0]
        assert ask(address, "PUT", "/api/view", json={"view": "layer=permuted&rows=2"}).status_code == 200
        process.kill()
    process, again = start(folder)
    with process:
        assert again.query != address.query
        after = unpack(ask(again).content)[0]
        assert after["live"]["view"] == "layer=permuted&rows=2"
        assert {**after, "live": {**after["live"], "view": ""}} == before
        assert httpx.get(f"http://{again.netloc}/?{address.query}", timeout=60).status_code == 403
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0


def test_a_port_in_use_is_explained(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="cannot be used"):
            serve(folder, port=taken.getsockname()[1], open_browser=False)


@pytest.mark.parametrize("option", ["SO_REUSEADDR", "SO_EXCLUSIVEADDRUSE"])
def test_no_other_program_can_take_the_port(monkeypatch, option):
    """Where there is SO_EXCLUSIVEADDRUSE, on Windows, SO_REUSEADDR would let it."""
    monkeypatch.delattr(socket, "SO_EXCLUSIVEADDRUSE", raising=False)
    if option == "SO_EXCLUSIVEADDRUSE":
        monkeypatch.setattr(socket, option, ~socket.SO_REUSEADDR, raising=False)
    used = []

    class Recording(socket.socket):
        def setsockopt(self, level, name, value):
            used.append((level, name, value))

    monkeypatch.setattr(socket, "socket", Recording)
    import_module("prismap.page._server")._listen(0).close()
    assert used == [(socket.SOL_SOCKET, getattr(socket, option), 1)]


def test_a_missing_extra_is_named(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "starlette", None)
    for start_it in (make_app, serve_function):
        with pytest.raises(MissingExtraError, match="prismap\\[explorer\\]"):
            start_it(folder)


def test_hundreds_of_silent_connections_do_not_keep_the_user_out(start, folder):
    process, address = start(folder)
    with process, ExitStack() as stack:
        stack.callback(process.kill)
        for number in range(300):
            silent = stack.enter_context(socket.create_connection((address.hostname, address.port), timeout=60))
            silent.sendall(b"GET / HTTP/1.1\r\n"[: number % 10])
        assert ask(address).status_code == 200
        assert httpx.get(address.geturl(), follow_redirects=True, timeout=60).status_code == 200


def test_a_head_that_does_not_end_is_given_up(start, folder, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "START", "import prismap.page._security as c\n"
                        "c.HEAD_SECONDS = 0.5\n" + START)  # fmt: skip
    process, address = start(folder)
    with process, ExitStack() as stack:
        stack.callback(process.kill)
        assert ask(address).status_code == 200
        with socket.create_connection((address.hostname, address.port), timeout=60) as slow:
            slow.sendall(b"GET / HTTP/1.1\r\nHost: 127")
            assert slow.recv(10) == b""
        with socket.create_connection((address.hostname, address.port), timeout=60) as kept:
            host = f"Host: {address.netloc}\r\n".encode()
            kept.sendall(b"GET /nothing HTTP/1.1\r\n" + host + b"\r\n")
            assert b"403" in kept.recv(4000)
            kept.sendall(b"G")  # after an answer too
            while kept.recv(4000):  # the rest of the answer, then the end
                pass
