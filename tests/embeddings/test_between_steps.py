"""Interrupts wait for the end of a step, happen then, and leave the handler as it was."""

import signal
import threading

import pytest

from prismap.embeddings._descent import InterruptBetweenSteps


def press():
    signal.raise_signal(signal.SIGINT)


def test_an_interrupt_waits_for_the_end_of_the_step():
    before, done = signal.getsignal(signal.SIGINT), []

    def step():
        press()
        done.append("whole step")

    def steps():
        with InterruptBetweenSteps() as interrupt:
            interrupt.between(step)()
            done.append("next")

    with pytest.raises(KeyboardInterrupt):
        steps()
    assert done == ["whole step"]
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_after_the_last_step_is_not_lost():
    with pytest.raises(KeyboardInterrupt), InterruptBetweenSteps():
        press()


def test_the_second_interrupt_happens_at_once():
    done = []

    def steps():
        with InterruptBetweenSteps():
            press()
            done.append("noted")
            press()
            done.append("never")

    with pytest.raises(KeyboardInterrupt):
        steps()
    assert done == ["noted"]


def test_an_error_of_a_step_is_the_error():
    before = signal.getsignal(signal.SIGINT)

    def steps():
        with InterruptBetweenSteps():
            press()
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        steps()
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_do_without():
    found = []

    def work():
        with InterruptBetweenSteps() as interrupt:
            found.append(interrupt.between(lambda: 1)())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [1]
