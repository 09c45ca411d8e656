"""Who may talk to the explorer: pages of this very server that know the token, and nobody else.

The server listens on 127.0.0.1, which every program and every web page on the machine can reach. So each request must
name a local host (a foreign name that was made to point here is refused), must not come from a foreign page (Origin),
must carry the token of this run, and must not be larger than it has to be. There are no cookies.
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
        if scope["path"] == "/":
            found = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        else:
            found = headers.get(TOKEN_HEADER, b"").decode("latin-1")
        return secrets.compare_digest(found.encode(), self.token.encode())

    def _size_words(self) -> str:
        return f"This is more than the {self.max_body // 1_000_000} MB the explorer takes at once."


def _limited(receive: Callable[[], Any], most: int) -> Callable[[], Any]:
    """A body may also grow without having said its length."""
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


async def _answer(send: Any, status: int, words: str, *, as_page: bool = False) -> None:
    """JSON for the page's script; a readable page for the address itself. `words` are always our own."""
    body = (PAGE.format(words=words) if as_page else json.dumps({"error": words})).encode()
    kind = "text/html; charset=utf-8" if as_page else "application/json"
    headers = {"content-type": kind, "content-length": str(len(body)), **HEADERS}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
