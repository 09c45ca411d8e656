"""Start the live explorer on this machine: 127.0.0.1, a free port, an address with a secret."""

from __future__ import annotations

import logging
import secrets
import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prismap._util.optional import import_extra
from prismap.exceptions import InputError
from prismap.page._security import LimitedWaiting

if TYPE_CHECKING:
    from prismap.page._app import Source

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"


def serve(
    source: Source,
    *,
    port: int = 0,
    open_browser: bool = True,
    compute: Any = None,
    folder: str | Path | None = None,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Show a map in the browser until interrupted.

    Parameters
    ----------
    source, compute, folder : as for `make_app`
    port : int, default=0
        0 takes a free one.
    open_browser : bool, default=True
    announce : callable or None
        Gets the address once the server answers; by default it goes to the log.
    """
    for module in ("starlette", "uvicorn"):
        import_extra(module, extra="explorer", feature="The live explorer")
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from prismap.page._app import make_app

    token = secrets.token_urlsafe(24)
    app = make_app(source, compute, folder=folder, token=token)
    listener = _listen(port)
    address = f"http://{HOST}:{listener.getsockname()[1]}/?token={token}"
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, proxy_headers=False, ws="none",
        http=type("Protocol", (LimitedWaiting, H11Protocol), {}), timeout_graceful_shutdown=2,
    )  # fmt: skip
    server = uvicorn.Server(config)

    def when_started() -> None:
        while not server.started:
            if server.should_exit:
                return
            time.sleep(0.02)
        (announce or (lambda text: logger.info("the explorer is at %s", text)))(address)
        if open_browser:
            webbrowser.open(address)

    threading.Thread(target=when_started, daemon=True).start()
    # Ctrl-C is how this ends.
    with listener, suppress(KeyboardInterrupt):
        server.run(sockets=[listener])


def _listen(port: int) -> socket.socket:
    # asyncio sends at once (TCP_NODELAY) only where the protocol is named; otherwise every answer waits for 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # SO_REUSEADDR frees the port of a server that has just ended. On Windows it would let another program take the port
    # of a server that is running, and SO_EXCLUSIVEADDRUSE, which only Windows has, forbids that.
    option = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
    listener.setsockopt(socket.SOL_SOCKET, option, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise InputError(f"port {port} cannot be used ({error}). Leave it out, or use 0, for a free one.") from error
    return listener
