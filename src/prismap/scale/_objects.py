"""Objects of a file, for a map that compares them: FASTA, JSON lines, or a column of text of a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from prismap.comparisons import Things, text_column
from prismap.comparisons._reading import FASTA, JSON, objects_reader
from prismap.exceptions import InputError
from prismap.map._predictions import votes_at
from prismap.tables import ENDINGS, Roles, read_table, reader_of

#: Objects that are placed at a time.
BATCH_OBJECTS = 1000


def knows_trust(model: Any) -> bool:
    """Whether a map was judged, by enough samples to tell how far others can be trusted."""
    return model.judgement_ is not None and model.judgement_.knows_trust


def is_object_file(path: Path) -> bool:
    """Whether a file may hold objects: sequences, JSON lines, or a table with a column of text."""
    return objects_reader(path) is not None or reader_of(path) is not None


def read_things(path: Path, model: Any) -> Things:
    """The objects of a file."""
    reader = objects_reader(path)
    if reader is not None:
        things: Things = reader(path)
        return things
    about = (getattr(model, "extra_header_", None) or {}).get("objects")
    if about is None:
        raise InputError(
            f"{path} may be a table, and the map was made of objects that no column of a table holds: its objects come "
            f"from files that end in {FASTA[0]} or {JSON[0]}."
        )
    if reader_of(path) is None:
        raise InputError(f"{path} is no table ({', '.join(ENDINGS)}) and no file of objects ({FASTA[0]}, {JSON[0]}).")
    return text_column(read_table(path, Roles(None, about["ids"], text=(about["column"],))), about["column"])


def placed_objects(path: Path, model: Any, tally: Any) -> Iterator[dict[str, Any]]:
    """The columns of the output, a batch of objects at a time; `tally` counts them."""
    things = read_things(path, model)
    for first in range(0, len(things), BATCH_OBJECTS):
        some = slice(first, first + BATCH_OBJECTS)
        Y, far, distance = model.place(things.objects[some], return_distance=True)
        target = None if things.labels is None else np.array(things.labels[some], dtype=object)
        tally.add(far, None, target)
        columns = {
            "id": np.array(things.names[some]), "x": Y[:, 0], "y": Y[:, 1], "split": np.full(len(Y), "new"),
            "far": far, "distance": distance, "row": np.arange(first, first + len(Y)),
        }  # fmt: skip
        if knows_trust(model):
            columns["trust"] = model.trust(things.objects[some], positions=(Y, far))
        columns |= {} if target is None else {"target": target}
        yield columns | votes_at(model.map_, Y)
