"""Numbered cases run one after the other in this process: what became of each, and which one was at hand at the end."""

import json
import sys
import warnings
from pathlib import Path

from prismap.exceptions import InputError

#: Ends that are as they should be.
GOOD = frozenset({"refused", "used", "not written"})


def run_cases(run, folder, first, last):
    """Call ``run(case)`` for each number and print what went wrong, then the counts, as JSON lines.

    FOLDER/case holds the number at hand, so that whoever watches knows which case ended the process.
    """
    warnings.simplefilter("ignore")
    counts = {}
    with open(Path(folder) / "case", "w") as at:
        for case in range(first, last):
            at.seek(0)
            at.write(f"{case:9}")
            at.flush()
            try:
                found = run(case)
            except Exception as error:
                found = f"raised {type(error).__name__}: {error}"[:300]
            counts[found] = counts.get(found, 0) + 1
            if found not in GOOD:
                print(json.dumps({"case": case, "found": found}), flush=True)
    print(json.dumps({"counts": counts}), flush=True)


def in_words(error: InputError):
    """A refusal must be one line of words."""
    words = str(error)
    return "refused" if 20 < len(words) < 2000 and "\n" not in words.strip() else f"a long story: {words[:200]!r}"


def arguments():
    """Folder, first and last case of the command line."""
    return sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
