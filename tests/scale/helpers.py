"""Jobs that go wrong on purpose, where worker processes can import them."""

import os
import signal
import time
from pathlib import Path

from prismap.scale._records import Mapped


def dies_once(part, *, flag, **options):
    """Kill the worker in the middle of the first part it gets, with some of it written aside; work as usual later."""
    if "b" in part.source.name and not Path(flag).exists():
        Path(flag).touch()
        part.out.with_name(f".{part.out.stem}.0123abcd.parquet").write_bytes(b"PAR1")
        os.kill(os.getpid(), signal.SIGKILL)
    from prismap.scale._files import attempt

    return attempt(part, **options)


def dies_on_b(part):
    """A part that kills every worker; the others do nothing, quickly."""
    if part.source.stem == "b":
        os.kill(os.getpid(), signal.SIGKILL)
    return Mapped(str(part.source), str(part.out), rows=1)


def sleeps(part):
    """Say who works on the part, and do not end."""
    part.out.write_text(str(os.getpid()))
    time.sleep(60)


def kills_its_scheduler(part):
    """End the process of the worker, in which its scheduler lives too."""
    os.kill(os.getpid(), signal.SIGKILL)
