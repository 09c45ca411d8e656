"""What a run over files is made of: parts to map, what became of each, and how far it all is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """A file, or a stretch of row groups of a parquet file, and the file its positions go to."""

    source: Path
    out: Path
    row_groups: tuple[int, int] | None = None
    """The first, and the one after the last; None is the whole file."""
    start: int = 0
    """The number, in the source, of the first row."""
    rows: int | None = None
    """How many there are, where the source says so."""
    keep_columns: bool = False
    """Whether the other columns of the source are written, too."""
    sheet: str | None = None
    """The sheet of a workbook, and the rows above its names; None: found."""
    skip_rows: int | None = None


@dataclass(frozen=True)
class Mapped:
    """What became of a part.

    `error` is None if all is well; `skipped` says that the output was there already. `filled` and `unknown` count
    values that were missing or of a level the map has not seen, by column; `new_levels` are these levels, up to ten of
    a column, and `new_classes` classes it has not seen; `drifted` says of columns of numbers how they differ from what
    the map knows. `absent` are columns that the source lacks, each with a similar name that may be meant; all rows are
    `doubtful`, and count as far, if these tell much about the target.
    """

    source: str
    out: str
    rows: int = 0
    far: int = 0
    seconds: float = 0.0
    skipped: bool = False
    error: str | None = None
    filled: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    new_classes: tuple[str, ...] = ()
    drifted: dict[str, str] = field(default_factory=dict)
    new_levels: dict[str, list[str]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    doubtful: bool = False


def failed(part: Part, why: str) -> Mapped:
    """The result of a part that could not be mapped; the message names the source."""
    why = " ".join(why.split())
    return Mapped(str(part.source), str(part.out), error=why if str(part.source) in why else f"{part.source}: {why}")


@dataclass(frozen=True)
class Progress:
    """How far a run is; what was there before it began is not counted."""

    files_done: int
    files: int
    rows: int
    rows_expected: int | None
    seconds: float

    @property
    def rate(self) -> float:
        """Rows per second so far."""
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """By the rows if their number is known, by the files otherwise; None as long as nothing is done."""
        done, of = (self.rows, self.rows_expected) if self.rows_expected else (self.files_done, self.files)
        return self.seconds * (of - done) / done if done and of else None
