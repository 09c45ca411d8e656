"""What a child behind glass may do: work, fail, take too much, go round in circles, or end."""

import os
import signal

import numpy as np

from prismap.exceptions import InputError


def numbers(n):
    print("a library that talks")
    for i in range(n):
        yield np.full(i, i)


def abort():
    yield 1
    os.abort()


def circles():
    """As a library does that was led astray: deaf to everything but SIGKILL."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    yield 1
    while True:
        pass


def greed(n_bytes):
    yield len(bytearray(n_bytes))


def refuse():
    yield from ()
    raise InputError("the file is not good enough.")


def fail():
    yield from ()
    raise KeyError("odd")


def unreadable():
    os.write(3, b"no pickle")
    yield 1
