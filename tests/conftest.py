"""Two workers share two cores: matrix products of a test run keep to one thread each, or they wait for one another.

A shell starts its background jobs, ``make test &`` say, so that they ignore interrupts, and so would the processes that
tests interrupt. Tests that are marked ``posix`` or ``linux`` are left out on other systems.
"""

import os
import signal
import sys

import pytest

#: Marks of tests that need a kind of system, and whether this is one.
SYSTEMS = {"posix": os.name == "posix", "linux": sys.platform == "linux"}

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")


def pytest_configure(config):
    """What was imported before this file is told as well; interrupts count again."""
    from threadpoolctl import threadpool_limits

    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.add_cleanup(threadpool_limits(1).restore_original_limits)


def pytest_collection_modifyitems(items):
    """Tests of other systems are skipped: there, a signal would end the test run itself."""
    for item in items:
        for name, is_here in SYSTEMS.items():
            if not is_here and item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=f"for {name} systems"))
