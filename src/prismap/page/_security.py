"""Who may talk to the explorer: only pages of this server that know the token.

The server listens on 127.0.0.1, which every program and every web page on the machine can reach. So each request must
name a local host (a foreign name that was made to point here is refused), must not come from a foreign page (Origin),
must carry the token of this run, and must not be larger than it has to be.

The token is in the address that prismap prints. The first request swaps it for a cookie and goes on to an address
without it, which can be copied, kept in the history and shown on a screen. The cookie is a secret of its own.

Connections that send no request do not keep a user out: there is a time limit for the head of a request, and a limit of
idle connections.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection
from typing import Any
from urllib.parse import parse_qs

LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
TOKEN_HEADER = b"x-prismap-token"
MAX_BODY = 64_000_000
#: Requests of those who know the token that are answered at the same time.
MOST_AT_ONCE = 32
#: Seconds for a whole head of a request, from the connection or from the first byte after an answer.
HEAD_SECONDS = 10.0
#: Connections without a request; of more, the oldest is closed.
MOST_IDLE = 64
HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class _TooLarge(Exception):
    pass


class Guard:
    """ASGI middleware with all of these checks, in front of everything else."""

    def __init__(self, app: Any, *, token: str, hosts: Collection[str] = LOCAL_HOSTS, max_body: int = MAX_BODY) -> None:
        self.app = app
        self.token = token
        self.hosts = hosts
        self.max_body = max_body
        self.session = secrets.token_urlsafe(24)
        self.under_way = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let the request through, or answer it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refused = self._refusal(scope)
        if refused is not None:
            await _answer(send, *refused, as_page=scope["path"] == "/")
            return
        if self._brings_token(scope):
            await _redirect(send, self._cookie(scope))
            return
        if self.under_way >= MOST_AT_ONCE:
            await _answer(send, 503, "Too many requests at once; try again when some are answered.")
            return
        self.under_way += 1
        try:
            await self._pass_on(scope, receive, send)
        finally:
            self.under_way -= 1

    async def _pass_on(self, scope: Any, receive: Any, send: Any) -> None:
        started = False

        async def noting_send(message: Any) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        try:
            await self.app(scope, _limited(receive, self.max_body), noting_send)
        except _TooLarge:
            if not started:
                await _answer(send, 413, self._size_words())

    def _refusal(self, scope: Any) -> tuple[int, str] | None:
        """Status and words for a request that may not pass."""
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if host.rpartition(":")[0] not in self.hosts and host not in self.hosts:
            return 400, "This server answers to its local name only."
        origin = headers.get(b"origin")
        changing = scope["method"] not in ("GET", "HEAD")
        if origin is not None and origin.decode("latin-1").lower() != f"http://{host}":
            return 403, "Requests from other pages are refused."
        if changing and origin is None:
            return 403, "Requests that change something must say which page they come from."
        if not self._knows_token(scope, headers):
            return 403, "The address lacks the token of this run. Use the one that prismap printed when it started."
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.max_body:
            return 413, self._size_words()
        return None

    def _knows_token(self, scope: Any, headers: dict[bytes, bytes]) -> bool:
        """By the cookie, by a header (for programs), or by the address, which is then exchanged for the cookie."""
        name = _cookie_name(headers)
        cookies = headers.get(b"cookie", b"").decode("latin-1").split(";")
        kept = next((value for key, _, value in (one.strip().partition("=") for one in cookies) if key == name), "")
        header = headers.get(TOKEN_HEADER, b"").decode("latin-1")
        return _same(kept, self.session) or _same(header, self.token) or self._brings_token(scope)

    def _brings_token(self, scope: Any) -> bool:
        if scope["path"] != "/" or scope["method"] not in ("GET", "HEAD"):
            return False
        return _same(parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0], self.token)

    def _cookie(self, scope: Any) -> str:
        return f"{_cookie_name(dict(scope['headers']))}={self.session}; Path=/; HttpOnly; SameSite=Lax"

    def _size_words(self) -> str:
        return f"This is more than the {self.max_body // 1_000_000} MB the explorer takes at once."


def _same(text: str, secret: str) -> bool:
    return secrets.compare_digest(text.encode(), secret.encode())


def _cookie_name(headers: dict[bytes, bytes]) -> str:
    """With the port in it: browsers keep one jar for all ports of a host, and there may be several explorers."""
    port = headers.get(b"host", b"").decode("latin-1").rpartition(":")[2]
    return f"prismap-{port if port.isdigit() else 80}"


def _limited(receive: Callable[[], Any], most: int) -> Callable[[], Any]:
    """The same with a limit for the body, whose length need not be stated in the head."""
    total = 0

    async def limited() -> Any:
        nonlocal total
        message = await receive()
        if message["type"] == "http.request":
            total += len(message.get("body", b""))
            if total > most:
                raise _TooLarge
        return message

    return limited


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>prismap</title><link rel="icon" href="data:,"></head>
<body style="font:16px/1.5 system-ui;max-width:38em;margin:20vh auto;padding:0 1em">
<h1>This map cannot be shown</h1><p>{words}</p></body></html>"""


async def _redirect(send: Any, cookie: str) -> None:
    """On to the address without the token; the browser keeps the part after #, which is the view."""
    headers = {"location": "./", "set-cookie": cookie, "content-length": "0", **HEADERS}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 303, "headers": pairs})
    await send({"type": "http.response.body", "body": b""})


async def _answer(send: Any, status: int, words: str, *, as_page: bool = False) -> None:
    """JSON for the page's script; a readable page for the address itself. `words` are always our own."""
    body = (PAGE.format(words=words) if as_page else json.dumps({"error": words})).encode()
    kind = "text/html; charset=utf-8" if as_page else "application/json"
    headers = {"content-type": kind, "content-length": str(len(body)), **HEADERS}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


class LimitedWaiting:
    """These two limits, to be put before uvicorn's protocol in a class.

    uvicorn waits for the first request of a connection without end, and counts every connection towards its limit, so
    that a few hundred silent ones would have it answer 503 to the page.
    """

    connections: Any
    cycle: Any
    loop: Any
    transport: Any
    _timer: Any = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request, and give up on the one that has waited longest if too many do."""
        super().connection_made(transport)  # type: ignore[misc]
        self._wait()
        waiting = [one for one in self.connections if getattr(one, "_timer", None) is not None]
        if len(waiting) > MOST_IDLE:
            min(waiting, key=lambda one: one._timer.when()).give_up()

    def data_received(self, data: bytes) -> None:
        """Wait on while the head is incomplete: its bytes may come one by one."""
        super().data_received(data)  # type: ignore[misc]
        if self._between_requests():
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer with the connection."""
        self._stop_waiting()
        super().connection_lost(exc)  # type: ignore[misc]

    def give_up(self) -> None:
        """Close a connection that has no request under way."""
        self._stop_waiting()
        if self._between_requests():
            self.transport.close()

    def _between_requests(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
