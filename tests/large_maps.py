"""Maps of a few hundred rows that count as large, so that what large maps do can be tested in a second."""

import importlib
import pkgutil


def count_as_large(patch, n_rows, n_landmarks=None):
    """Maps of more than so many rows are large, wherever that is asked, and so many landmarks carry them."""
    room = importlib.import_module("prismap.map")
    for found in pkgutil.iter_modules(room.__path__):
        module = importlib.import_module(f"prismap.map.{found.name}")
        if hasattr(module, "DENSE_ROWS"):
            patch.setattr(module, "DENSE_ROWS", n_rows)
    if n_landmarks is not None:
        patch.setattr("prismap.map._methods.N_LANDMARKS", n_landmarks)
