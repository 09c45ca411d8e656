"""Numbered cases run one after the other in this process: what became of each, and which one was at hand at the end."""

import copy
import json
import signal
import sys
import tracemalloc
import warnings
from pathlib import Path

from prismap.exceptions import InputError

#: Ends that are as they should be.
GOOD = frozenset({"refused", "used", "not written", "ended behind glass"})
#: A case that takes longer hangs: the system ends the process, deaf compiled code included.
MOST_SECONDS = 60
#: A case that asks for more than this ends in MemoryError rather than in the end of the machine.
MOST_BYTES = 3 * 2**30
#: Memory may be so many times what a header declares, and this much for what Python itself needs on the way.
MOST_TIMES, SLACK = 4, 2**22
#: Values that a header does not expect.
PLAIN = (
    None, 3, -1, 0, 0.5, 1e308, float("nan"), float("inf"), 2**62, 2**70, "x", "", [], [1, "a"], {}, {"a": 1}, True,
    "\ud800", "\x1b[31m", [[]], "9" * 5000,
)  # fmt: skip


def run_cases(run, folder, first, last):
    """Call ``run(case)`` for each number and print what went wrong, then the counts, as JSON lines.

    FOLDER/case holds the number at hand, so that whoever watches knows which case ended the process.
    """
    import resource  # Windows has none

    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    warnings.simplefilter("ignore")
    counts = {}
    with open(Path(folder) / "case", "w") as at:
        for case in range(first, last):
            at.seek(0)
            at.write(f"{case:9}")
            at.flush()
            signal.alarm(MOST_SECONDS)
            try:
                found = run(case)
            except Exception as error:
                found = f"raised {type(error).__name__}: {error}"[:300]
            counts[found] = counts.get(found, 0) + 1
            if found not in GOOD:
                print(json.dumps({"case": case, "found": found}), flush=True)
    signal.alarm(0)
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    print(json.dumps({"counts": counts, "peak": round(peak)}), flush=True)


def in_words(error: InputError):
    """A refusal must be one line of words."""
    words = str(error)
    return "refused" if 20 < len(words) < 2000 and "\n" not in words.strip() else f"a long story: {words[:200]!r}"


def arguments():
    """Folder, first and last case of the command line."""
    return sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def changed_plain(document, rng):
    """A JSON document with one to three of its values replaced, removed, exchanged or put somewhere else."""
    document = copy.deepcopy(document)
    for _ in range(rng.integers(1, 4)):
        places = list(_places(document))
        if not places:
            return document
        where, name = places[rng.integers(len(places))]
        there, other = places[rng.integers(len(places))]
        how = rng.integers(6)
        if how == 0 and isinstance(where, dict):
            where.pop(name, None)
        elif how == 1 and isinstance(where, list):
            where[:] = where[: rng.integers(len(where))] if rng.random() < 0.5 else where * 3
        elif how == 2:
            where[name] = copy.deepcopy(there[other])
        else:
            where[name] = copy.deepcopy(PLAIN[rng.integers(len(PLAIN))])
    return document


def _places(node):
    """Every (dictionary or list, name or number) of a document."""
    for name in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        yield node, name
        yield from _places(node[name])


def memory_of(work, declared):
    """The result of some work, or the words that it took more memory than a file declares."""
    ends = []
    peak = peak_of(lambda: ends.append(work()))
    times = peak / (MOST_TIMES * declared + SLACK)
    return ends[0] if times <= 1 else f"{times:.1f} times the memory it may take"


def peak_of(work):
    """The most bytes that some work takes at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
