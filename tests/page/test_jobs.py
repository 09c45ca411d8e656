"""Work beside the server ends when it is told to, even work that does not ask."""

import threading
import time

import numpy as np
import pytest

from prismap.page._compute import REMEMBERED, Jobs


@pytest.fixture
def jobs():
    made = Jobs(workers=1)
    yield made
    made.close()


def finished(job):
    deadline = time.monotonic() + 60
    while job.state in ("waiting", "running"):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return job.state


def test_progress_ends_work_that_was_told_to_stop(jobs):
    def endless(job):
        while True:
            job.progress(0.5)
            time.sleep(0.001)

    job = jobs.start(endless)
    job.stop.set()
    assert finished(job) == "stopped"


def test_work_that_waits_can_be_stopped_before_it_begins(jobs):
    go, ran = threading.Event(), []
    first = jobs.start(lambda _: go.wait(60))
    second = jobs.start(lambda _: ran.append(1))
    second.stop.set()
    go.set()
    assert finished(first) == "done"
    assert finished(second) == "stopped"
    assert ran == []


def test_positions_are_copied_so_that_the_work_may_go_on(jobs):
    def work(job):
        positions = np.zeros((3, 2))
        job.progress(2.0, positions)
        positions += 1

    job = jobs.start(work)
    assert finished(job) == "done"
    assert job.positions.sum() == 0
    assert (job.share, job.step) == (1.0, 1)


def test_old_jobs_are_forgotten(jobs):
    first = jobs.start(lambda _: None)
    finished(first)
    for _ in range(REMEMBERED + 1):
        finished(jobs.start(lambda _: None))
    assert jobs.get(first.id) is None
