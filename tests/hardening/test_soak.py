"""A short soak of the live explorer: mixed requests, none of them a fault of the server, and nothing left over."""

import socket
import sys

from tools import soak

from prismap.page import serve


def test_nothing_is_left_over_of_good_and_bad_requests(monkeypatch):
    monkeypatch.setattr(soak, "PATHS", [*soak.PATHS, *sys.path])
    answers, wrong, _, _ = soak.soak(3, 200)
    assert wrong == []
    assert {200, 403, 404, 405} <= set(answers)


def test_answers_do_not_wait_for_the_browser(monkeypatch):
    """asyncio sets TCP_NODELAY on connections of a listener that names its protocol, and on no others."""
    seen = []
    monkeypatch.setattr("uvicorn.Server.run", lambda _, sockets: seen.append(sockets[0].proto))
    serve(lambda: None, open_browser=False)
    assert seen == [socket.IPPROTO_TCP]
