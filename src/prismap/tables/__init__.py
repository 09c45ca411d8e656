"""Data files in, numbers out: delimited text, jsonl, xlsx, parquet, arrow and numpy; and the encoding of a map."""

from prismap.tables.arrow import arrow_batches, table_from_arrow
from prismap.tables.cells import NAMES, is_cells, open_cells
from prismap.tables.column import TextColumn, missing_count
from prismap.tables.encoding import ColumnEncoding, Encoded, TableEncoding, encoding_of
from prismap.tables.frames import is_frame, table_from_frame
from prismap.tables.learning import learn_encoding
from prismap.tables.reading import ENDINGS, read_batches, read_obsm, read_table, reader_of
from prismap.tables.table import Roles, Table, label_texts

__all__ = [
    "ENDINGS",
    "NAMES",
    "ColumnEncoding",
    "Encoded",
    "Roles",
    "Table",
    "TableEncoding",
    "TextColumn",
    "arrow_batches",
    "encoding_of",
    "is_cells",
    "is_frame",
    "label_texts",
    "learn_encoding",
    "missing_count",
    "open_cells",
    "read_batches",
    "read_obsm",
    "read_table",
    "reader_of",
    "table_from_arrow",
    "table_from_frame",
]
