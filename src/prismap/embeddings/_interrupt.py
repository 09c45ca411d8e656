"""Ctrl-C waits for the end of a step: openTSNE's compiled code does not survive an exception in its middle."""

from __future__ import annotations

import signal
import threading
from typing import Any


class InterruptBetweenSteps:
    """While it is entered, an interrupt is only noted; `check`, called between steps, lets it happen.

    A second interrupt happens at once. Outside the main thread, and where SIGINT is ignored, nothing is changed: there
    Python raises no KeyboardInterrupt.
    """

    def __enter__(self):
        self._noted = False
        self._handler: Any = None
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and callable(signal.getsignal(signal.SIGINT)):
            self._handler = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, kind, error, trace):
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
        if kind is None:
            self.check()

    def _note(self, number, frame):
        if self._noted:
            self._handler(number, frame)
        self._noted = True

    def check(self):
        """Let a noted interrupt happen, as the handler that was there before would."""
        if self._noted:
            self._noted = False
            self._handler(signal.SIGINT, None)

    def between(self, step):
        """The same function, after which a noted interrupt happens."""

        def checked(*args, **kwargs):
            result = step(*args, **kwargs)
            self.check()
            return result

        return checked
