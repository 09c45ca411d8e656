"""Data files in, numbers out: reading (csv, tsv, parquet, arrow, npz, npy) and the encoding kept with a map."""

from prismap.tables.encoding import ColumnEncoding, Encoded, TableEncoding, encoding_of, learn_encoding
from prismap.tables.reading import ENDINGS, read_batches, read_table
from prismap.tables.table import Roles, Table, TextColumn, table_from_arrow

__all__ = [
    "ENDINGS",
    "ColumnEncoding",
    "Encoded",
    "Roles",
    "Table",
    "TableEncoding",
    "TextColumn",
    "encoding_of",
    "learn_encoding",
    "read_batches",
    "read_table",
    "table_from_arrow",
]
