"""A case in a fork of this process, where libraries are imported already: a thousand times cheaper than a new process.

What ends the fork, or has no end in it, must be refused by the door itself, which is then asked.
"""

import os
import resource
import select
import signal

from hardening.cases import in_words
from prismap.exceptions import InputError

#: What became of a case that a fork did not survive, and that the door refused in words.
BEHIND_GLASS = "ended behind glass"


def forked(work, door, *, seconds=10.0, n_bytes=2**30):
    """What became of ``work()`` in a fork: its answer, a refusal, an error; `door` is asked where the fork ended."""
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        os.close(receive)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no outcome
        _limit(n_bytes)
        os.write(send, _outcome(work).encode()[:4000])
        os._exit(0)
    os.close(send)
    try:
        ready, _, _ = select.select([receive], [], [], seconds)
        answer = os.read(receive, 4000).decode() if ready else ""
    finally:
        os.close(receive)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if answer:
        return answer
    end = _outcome(door)
    return BEHIND_GLASS if end == "refused" else f"ended or hung, and at the door: {end}"


def _outcome(work):
    try:
        return work()
    except InputError as error:
        return in_words(error)
    except MemoryError:
        return "refused"  # the door has words for it
    except Exception as error:
        return f"raised {type(error).__name__}: {error}"[:300]


def _limit(n_bytes):
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + n_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]))
