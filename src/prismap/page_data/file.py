"""A page's data as a file of its own: the message of `packing` with every column, read without running anything."""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path

from prismap.bundle import written_aside
from prismap.exceptions import FileFormatError
from prismap.page_data.data import PageData
from prismap.page_data.message import pack_page, unpack_page

#: The largest page there is; a file or message that claims more is none.
MOST_BYTES = 2**32
#: What reading bytes that are no page may raise.
DAMAGE = (ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError, OSError, RecursionError, zlib.error)


def write_page_file(page: PageData, path: str | os.PathLike[str]) -> Path:
    """Write the data of a page with all its columns and images, aside first and then renamed."""
    message = pack_page(page, column_bytes=sys.maxsize, image_bytes=sys.maxsize)
    with written_aside(path) as aside:
        aside.write_bytes(message)
    return Path(path)


def read_page_file(path: str | os.PathLike[str]) -> PageData:
    """The data of a page that `write_page_file` wrote, or a `FileFormatError` that says why it cannot be read."""
    path = Path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError("it is larger than any page")
        return unpack_page(path.read_bytes())
    except DAMAGE as error:
        raise FileFormatError(f"{path.name} cannot be read ({error})") from error
