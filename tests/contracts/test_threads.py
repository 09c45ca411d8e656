"""Loops of small products use one thread of linear algebra, and give the others back."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from prismap._threads import on_one_thread


def blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@on_one_thread
def inside(fail):
    """What it sees."""
    if fail:
        raise ValueError("stop")
    return blas_threads()


def test_one_thread_inside_and_as_many_as_before_afterwards():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        assert inside(False) == {1}
        with pytest.raises(ValueError, match="stop"):
            inside(True)
        assert blas_threads() == before
    assert inside.__doc__ == "What it sees."
