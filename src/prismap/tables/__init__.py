"""Data files in, numbers out: delimited text, jsonl, xlsx, parquet, arrow and numpy; and the encoding of a map."""

from prismap.tables._arrow import arrow_batches, table_from_arrow
from prismap.tables._cells import NAMES, is_cells, open_cells
from prismap.tables._column import TextColumn, missing_count
from prismap.tables._encoding import ColumnEncoding, Encoded, TableEncoding, encoding_of
from prismap.tables._frames import is_frame, table_from_frame
from prismap.tables._learning import learn_encoding
from prismap.tables._reading import ENDINGS, read_batches, read_obsm, read_table, reader_of
from prismap.tables._table import Roles, Table, label_texts

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
