"""Connections that say nothing do not keep a user out: a time limit for the head of a request, a limit for idle ones.

uvicorn waits for the first request of a connection without end, and counts every connection towards its limit, so that
a few hundred silent ones would have it answer 503 to the page.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds for a whole head of a request, from the connection or from the first byte after an answer.
HEAD_SECONDS = 10.0
#: Connections without a request; of more, the oldest is closed.
MOST_IDLE = 64


class PatientProtocol(H11Protocol):  # type: ignore[misc]
    """uvicorn's protocol with these two limits."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request, and give up on the one that has waited longest if too many do."""
        super().connection_made(transport)
        self._wait()
        waiting = [one for one in self.connections if getattr(one, "_timer", None) is not None]
        if len(waiting) > MOST_IDLE:
            min(waiting, key=lambda one: one._timer.when()).give_up()

    def data_received(self, data: bytes) -> None:
        """Wait on while the head is incomplete: its bytes may come one by one."""
        super().data_received(data)
        if self._between_requests():
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer with the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

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
