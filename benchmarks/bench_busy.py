"""Every method beside four other processes: small products on several threads wait for each other there.

The CPU seconds of the same work without these processes and with them, in turn. Waiting threads spin, and so burn them.
On a machine that does other work anyway "quiet" is what it is.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from contextlib import contextmanager

import numpy as np
from sklearn.datasets import load_digits

from prismap import PrisMap
from prismap.map._methods import METHODS

N_ROWS, N_OTHERS = 200, 4
COUNT = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(100_000))"


@contextmanager
def other_processes(n=N_OTHERS):
    """So many processes that do nothing but count, as long as this one lives."""
    running = [subprocess.Popen([sys.executable, "-c", COUNT, str(os.getpid())]) for _ in range(n)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def whole_work(method):
    """Fit, report and place by a method."""
    X, y = load_digits(return_X_y=True)
    mapping = "auto" if method == "tsne" else "fisher"

    def work():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            m = PrisMap(method, mapping=mapping, supervision=0.8, random_state=0).fit(X[:N_ROWS], y[:N_ROWS])
            m.report(budget="quick")
            return m.transform(X)

    def busy():
        with other_processes():
            return work()

    return work, busy


def cases(data_folder=None):
    """One case a method."""
    for method in METHODS:
        quiet, busy = whole_work(method)
        yield {
            "name": f"fit, report, place by {method}, {N_ROWS} digits: quiet, against beside {N_OTHERS} processes",
            "ours": busy, "theirs": quiet, "check": np.array_equal, "repeat": 2, "goal": 0.5,
            "clock": "own", "peak": False,
        }  # fmt: skip
