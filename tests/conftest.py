"""Two workers share two cores: matrix products of a test run keep to one thread each, or they wait for one another."""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")


def pytest_configure(config):
    """What was imported before this file is told as well."""
    from threadpoolctl import threadpool_limits

    config.add_cleanup(threadpool_limits(1).restore_original_limits)
