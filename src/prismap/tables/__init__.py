"""Data files in, numbers out: delimited text, jsonl, xlsx, parquet, arrow and numpy; and the encoding of a map."""

from prismap.tables._arrow import arrow_batches as arrow_batches
from prismap.tables._arrow import is_frame as is_frame
from prismap.tables._arrow import table_from_arrow as table_from_arrow
from prismap.tables._arrow import table_from_frame as table_from_frame
from prismap.tables._cells import NAMES as NAMES
from prismap.tables._cells import is_cells as is_cells
from prismap.tables._cells import load_cells as load_cells
from prismap.tables._column import TextColumn as TextColumn
from prismap.tables._column import missing_count as missing_count
from prismap.tables._encoding import ColumnEncoding as ColumnEncoding
from prismap.tables._encoding import Encoded as Encoded
from prismap.tables._encoding import TableEncoding
from prismap.tables._encoding import encoding_of as encoding_of
from prismap.tables._encoding import points_in_time as points_in_time
from prismap.tables._learning import learn_encoding as learn_encoding
from prismap.tables._reading import ENDINGS as ENDINGS
from prismap.tables._reading import read_batches as read_batches
from prismap.tables._reading import read_obsm as read_obsm
from prismap.tables._reading import read_table
from prismap.tables._reading import reader_of as reader_of
from prismap.tables._table import Roles, Table
from prismap.tables._table import label_texts as label_texts

# Names that are imported "as" themselves are for other rooms, which share them; users need those of this list.
__all__ = ["Roles", "Table", "TableEncoding", "read_table"]
