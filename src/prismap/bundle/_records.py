"""A file of records that grows: each has a digest, so that what is damaged or cut short is noticed.

    header (a line of JSON, filled up with spaces to 64 bytes or a multiple) | record | record | ...
    record = number of bytes (8, little-endian) | 24 zero bytes | SHA-256 (32 bytes) | content

The digest is that of the header, the place of the record in the file, its number of bytes and its content: a record of
another file, or from another place of the same one, does not pass. Content of 16-byte entries stays aligned, so that it
can be searched where it lies on the disk.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import IO, Any

from prismap._version import __version__
from prismap.exceptions import FileFormatError

FORMAT, FORMAT_VERSION = "prismap-records", 1
_LINE, _HEAD, _MOST_HEADER, _BLOCK = 64, 64, 4096, 2**24


class Records:
    """The records of one file, checked when it is opened; `append` adds to those that are good.

    Parameters
    ----------
    path : the file; it need not exist.
    kind : what its records are.
    key : what they belong to. A file of another kind or key is refused with a `FileFormatError`.

    Attributes
    ----------
    spans : (start, number of bytes) of the content of each good record.
    damage : why no more of it was read; None if the file is whole. A last record that is cut short is no damage: the
        program that wrote it was killed.
    """

    def __init__(self, path: Path, *, kind: str, key: str) -> None:
        self.path, self.spans, self.damage = path, list[tuple[int, int]](), ""
        self._file: IO[bytes] | None = None
        if path.exists() and path.stat().st_size:
            with open(path, "rb") as file:
                self._header = _read_header(file, path, kind, key)
                self._read(file)
        else:
            self._header = _header(kind, key)

    @property
    def end(self) -> int:
        """Where the next record goes."""
        return sum(self.spans[-1]) if self.spans else len(self._header)

    def append(self, content: Any) -> None:
        """Write one record; it is there for other programs, and after the end of this one, when this returns."""
        raw = memoryview(content).cast("B")
        if self._file is None:
            self._file = self._open()
        place = self.end
        head = len(raw).to_bytes(8, "little") + bytes(24)
        self._file.write(head + _digest(self._header, place, head, raw).digest())
        self._file.write(raw)
        self._file.flush()
        self.spans.append((place + _HEAD, len(raw)))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> IO[bytes]:
        file = open(self.path, "r+b" if self.path.exists() else "xb")  # noqa: SIM115 (open for as long as the records)
        if not self.spans:
            file.truncate(0)
            file.write(self._header)
        file.truncate(self.end)
        file.seek(self.end)
        return file

    def _read(self, file: IO[bytes]) -> None:
        """The spans of all good records, up to the first that is not."""
        size = os.fstat(file.fileno()).st_size
        while True:
            place = self.end
            file.seek(place)
            head, stated = file.read(_HEAD - 32), file.read(32)
            n_bytes = int.from_bytes(head[:8], "little")
            if len(stated) < 32 or n_bytes > size - place - _HEAD:
                return
            digest, left = _digest(self._header, place, head, b""), n_bytes
            while left:
                block = file.read(min(left, _BLOCK))
                if not block:  # it was cut while it is read
                    return
                digest.update(block)
                left -= len(block)
            if digest.digest() != stated:
                self.damage = f"record {len(self.spans) + 1} does not have the SHA-256 digest that it states"
                return
            self.spans.append((place + _HEAD, n_bytes))


def _header(kind: str, key: str) -> bytes:
    document = {"format": FORMAT, "version": FORMAT_VERSION, "library": __version__, "kind": kind, "key": key}
    text = json.dumps(document).encode()
    return text + b" " * (-(len(text) + 1) % _LINE) + b"\n"


def _read_header(file: IO[bytes], path: Path, kind: str, key: str) -> bytes:
    line = file.readline(_MOST_HEADER)
    try:
        document = json.loads(line)
        stated = [document[name] for name in ("format", "version", "kind", "key")]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileFormatError(f"{path} was not written by prismap, or its header is damaged.") from error
    if len(line) % _LINE or not line.endswith(b"\n") or stated != [FORMAT, FORMAT_VERSION, kind, key]:
        raise FileFormatError(f"{path} holds no {kind} of format {FORMAT_VERSION} of these objects.")
    return line


def _digest(header: bytes, place: int, head: bytes, content: Any) -> Any:
    digest = hashlib.sha256(header)
    digest.update(place.to_bytes(8, "little") + head)
    digest.update(content)
    return digest
