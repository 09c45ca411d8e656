"""Our own files: arrays and JSON with a format, a version and a SHA-256 digest over all of it, and never pickle.

A model and a checkpoint are archives of arrays. The cache of compared objects is a file of records that grows. A report
is JSON, and a page is a message; both carry their digest with them. All of them are written and checked here. What is
damaged is refused with a `FileFormatError`, before anything is made of it.
"""

from prismap.bundle._archive import Bundle as Bundle
from prismap.bundle._archive import check_sparse as check_sparse
from prismap.bundle._archive import read_bundle, write_bundle
from prismap.bundle._aside import sync_folder as sync_folder
from prismap.bundle._aside import written_aside as written_aside
from prismap.bundle._rows import arrow_column as arrow_column
from prismap.bundle._rows import map_writer as map_writer
from prismap.bundle._rows import write_map as write_map

# Names that are imported "as" themselves are for other rooms, which share them; users need those of this list.
__all__ = ["read_bundle", "write_bundle"]
