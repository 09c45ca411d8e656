"""Results on disk: arrays and a JSON header in one file, without pickle, written aside and renamed.

A bundle is a zip archive that `numpy.load` opens too: ``header.json`` first, then one uncompressed ``<name>.npy`` per
array, then ``sha256.txt``, one digest over all of them. The header repeats the dtype and shape of every array, and all
of it is compared with the directory of the archive before a single array is read, so that a file cannot ask for more
memory than it has bytes. The page docs/file_format.md describes the format.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.blocks import require_memory
from prismap._version import __version__
from prismap.bundle._aside import written_aside
from prismap.bundle._json import JSON_GROWTH, MOST_JSON_BYTES
from prismap.exceptions import FileFormatError, InputError

FORMAT = "prismap-bundle"
FORMAT_VERSION = 1
#: The largest file `read_bundle` opens by default.
MAX_BYTES = 4 * 2**30

_HEADER, _DIGEST = "header.json", "sha256.txt"
_MAX_ARRAYS = 10_000
_NAME = re.compile(r"[\w\-]+(\.[\w\-]+)*(/[\w\-]+(\.[\w\-]+)*)*", re.ASCII)
_DTYPE = re.compile(r"\|b1|[|<>][iu]1|[<>]([iu][248]|f[248]|c8|c16|U[0-9]{1,6})")
#: What the zip and npy readers raise on bytes that are not what they should be.
_DAMAGE = (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, KeyError, TypeError, OverflowError)


@dataclass(frozen=True)
class Bundle:
    """What `read_bundle` returns: the arrays by name, the caller's header, and who wrote the file."""

    arrays: dict[str, NDArray[Any]]
    header: dict[str, Any]
    library: str
    version: int


def write_bundle(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any] | None = None
) -> None:
    """Write numeric, boolean and text arrays and a JSON header to `path`; equal input gives equal bytes.

    Names may have prefixes (``"metric/support"``); numpy scalars and arrays inside the header become numbers and lists.
    """
    ready = {name: _storable(name, array) for name, array in arrays.items()}
    document = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "library": __version__,
        "arrays": {name: {"dtype": array.dtype.str, "shape": list(array.shape)} for name, array in ready.items()},
        "header": dict(header or {}),
    }
    text = json.dumps(document, default=_plain, ensure_ascii=False).encode()
    if len(text) > MOST_JSON_BYTES:
        raise InputError(f"the header takes {len(text)} bytes, at most {MOST_JSON_BYTES} fit: store arrays instead.")
    with written_aside(path) as aside, zipfile.ZipFile(aside, "w", zipfile.ZIP_STORED) as archive:
        digest = hashlib.sha256(text)
        archive.writestr(_entry(_HEADER), text)
        for name, array in ready.items():
            with archive.open(_entry(f"{name}.npy"), "w", force_zip64=True) as file:
                np.lib.format.write_array(_Hashing(file, digest), array, allow_pickle=False)
        archive.writestr(_entry(_DIGEST), digest.hexdigest())


class _Hashing:
    """A file to write to whose bytes also go into a digest."""

    def __init__(self, file: IO[bytes], digest: Any) -> None:
        self._file, self._digest = file, digest

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        return self._file.write(data)


def read_bundle(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Bundle:
    """Read a file of `write_bundle`, or say why it is not one (`FileFormatError`). Nothing in it is executed."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; a file written by prismap is needed.")
    if not path.is_file():
        raise InputError(f"there is no file {path}.")
    n_bytes = path.stat().st_size
    if n_bytes > max_bytes:
        raise FileFormatError(
            f"{path} has {n_bytes} bytes, more than max_bytes={max_bytes}: raise max_bytes to read it."
        )
    try:
        with zipfile.ZipFile(path) as archive:
            entries = _check_directory(archive, n_bytes, path)
            needed = sum(entry.file_size for entry in entries.values()) + JSON_GROWTH * entries[_HEADER].file_size
            require_memory(needed, f"Reading {path}", "Read it on a machine with more memory.")
            text = archive.read(entries[_HEADER])
            document = _parse_header(text, path)
            declared = _check_declared(document, entries, path)
            digest = hashlib.sha256(text)
            arrays = {
                name: _read_array(archive, entries[f"{name}.npy"], dtype, shape, digest)
                for name, (dtype, shape) in declared.items()
            }
            if archive.read(entries[_DIGEST]) != digest.hexdigest().encode():
                raise FileFormatError(
                    f"{path} is damaged or was put together from several files: its header and arrays do not have the "
                    f"SHA-256 digest that it states."
                )
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{path} needs more memory than there is ({n_bytes / 2**20:.0f} MiB of arrays).") from error
    except (*_DAMAGE, RecursionError) as error:
        raise FileFormatError(f"{path} is damaged, or was not written by prismap: {error}") from error
    return Bundle(arrays, document["header"], document["library"], document["version"])


def _storable(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array in C order, if its name and dtype can be stored."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot name an array: letters, digits, _ - and . in parts divided by /, please.")
    array = np.asarray(array, order="C")
    if not _DTYPE.fullmatch(array.dtype.str):
        raise InputError(f"array {name!r} has dtype {array.dtype}: only numbers, booleans and text can be stored.")
    return array


def _plain(value: Any) -> Any:
    """numpy's scalars and arrays as JSON knows them."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise InputError(f"the header holds {value!r}, which JSON cannot store: use numbers, text, lists and dicts.")


def _entry(name: str) -> zipfile.ZipInfo:
    # A fixed date makes equal content equal bytes; the mode is what `unzip` should give the file.
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.external_attr = 0o644 << 16
    return entry


def _check_directory(archive: zipfile.ZipFile, n_bytes: int, path: Path) -> dict[str, zipfile.ZipInfo]:
    """The entries by name: unique, uncompressed, not encrypted, together no larger than the file."""
    entries = {entry.filename: entry for entry in archive.infolist()}
    if _HEADER not in entries:
        raise FileFormatError(f"{path} was not written by prismap: it has no {_HEADER}.")
    if len(entries) != len(archive.infolist()) or len(entries) > _MAX_ARRAYS + 1:
        raise FileFormatError(f"{path} is damaged: entries occur twice, or there are more than {_MAX_ARRAYS}.")
    for entry in entries.values():
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1 or entry.file_size != entry.compress_size:
            raise FileFormatError(
                f"{path} holds a compressed or encrypted entry ({entry.filename}); prismap writes none."
            )
    if entries[_HEADER].file_size > MOST_JSON_BYTES:
        raise FileFormatError(f"{path} has a header of {entries[_HEADER].file_size} bytes; that is too large.")
    if sum(entry.file_size for entry in entries.values()) > n_bytes:
        raise FileFormatError(f"{path} announces more data than its {n_bytes} bytes can hold.")
    return entries


def _parse_header(text: bytes, path: Path) -> dict[str, Any]:
    """The header, if it is ours and of the version that this library reads."""
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileFormatError(f"{path} was not written by prismap: its header does not say {FORMAT!r}.")
    version = document.get("version")
    if version != FORMAT_VERSION:
        raise FileFormatError(
            f"{path} has format version {version!r} (prismap {document.get('library')}); this is prismap "
            f"{__version__}, which reads version {FORMAT_VERSION}. Update prismap."
        )
    for key, kind in (("library", str), ("arrays", dict), ("header", dict)):
        if not isinstance(document.get(key), kind):
            raise FileFormatError(f"{path} is damaged: its header has no valid {key!r}.")
    return document


def _check_declared(
    document: dict[str, Any], entries: dict[str, zipfile.ZipInfo], path: Path
) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
    """dtype and shape of every array as the header declares them, each agreeing with the size of its entry."""
    if {f"{name}.npy" for name in document["arrays"]} | {_HEADER, _DIGEST} != set(entries):
        raise FileFormatError(f"{path} is damaged: its header lists other arrays than it holds.")
    declared = {}
    for name, about in document["arrays"].items():
        dtype, shape = about["dtype"], about["shape"]
        if not _DTYPE.fullmatch(dtype):
            raise FileFormatError(f"{path}: array {name!r} has dtype {dtype!r}; prismap stores numbers and text only.")
        if len(shape) > 32 or not all(type(n) is int and n >= 0 for n in shape):
            raise FileFormatError(f"{path}: array {name!r} has the impossible shape {shape!r}.")
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        head = entries[f"{name}.npy"].file_size - n_bytes
        if not 0 < head < 10_000:
            raise FileFormatError(f"{path} is damaged: array {name!r} does not have the {n_bytes} bytes it declares.")
        declared[name] = (np.dtype(dtype), tuple(shape))
    return declared


def _read_array(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, dtype: np.dtype[Any], shape: tuple[int, ...], digest: Any
) -> NDArray[Any]:
    """One array whose own header must repeat the declared dtype and shape; the zip reader checks the CRC at its end."""
    with archive.open(entry) as file:
        if _npy_header(file, digest) != f"{{'descr': {dtype.str!r}, 'fortran_order': False, 'shape': {shape!r}, }}":
            raise FileFormatError(f"{archive.filename} is damaged: {entry.filename} is not as its header declares.")
        raw = np.empty(math.prod(shape) * dtype.itemsize, dtype=np.uint8)
        view, done = raw.data, 0
        while done < len(raw):
            got = file.readinto(view[done : done + 2**24])  # type: ignore[attr-defined]
            if not got:
                raise EOFError(f"{entry.filename} ends early")
            done += got
        if file.read(1):
            raise FileFormatError(f"{archive.filename} is damaged: {entry.filename} is longer than declared.")
    digest.update(raw.data)
    # Bytes that are no boolean and no character would break numpy later.
    if dtype.kind == "b" and raw.max(initial=0) > 1:
        raise FileFormatError(f"{archive.filename} is damaged: {entry.filename} holds bytes that are not booleans.")
    if dtype.kind == "U" and raw.view(dtype.byteorder + "u4").max(initial=0) > 0x10FFFF:
        raise FileFormatError(f"{archive.filename} is damaged: {entry.filename} holds no valid text.")
    return raw.view(dtype).reshape(shape) if len(raw) else np.empty(shape, dtype)


def _npy_header(file: IO[bytes], digest: Any) -> str:
    """The text before the numbers of an npy entry, as numpy writes it; compared, never evaluated."""
    start = file.read(10)
    text = file.read(int.from_bytes(start[8:], "little"))
    digest.update(start + text)
    return text.decode("latin1").strip() if start[:8] == b"\x93NUMPY\x01\x00" else ""


def check_sparse(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]) -> None:
    """Refuse (ValueError) parts of a csr array that compiled code must not see: it trusts their indices unchecked."""
    if any(part.ndim != 1 for part in (data, indices, indptr)) or data.dtype.kind != "f":
        raise ValueError("the sparse rows are not three plain lists of numbers")
    if any(part.dtype.kind != "i" or part.dtype.itemsize not in (4, 8) for part in (indices, indptr)):
        raise ValueError("the indices of the sparse rows are not whole numbers of 32 or 64 bits")
    n_rows, n_columns = shape
    if n_rows < 0 or n_columns < 0 or len(indptr) != n_rows + 1:
        raise ValueError(f"{len(indptr)} row pointers do not go with {n_rows} sparse rows")
    if indptr[0] != 0 or not indptr[-1] == len(indices) == len(data) or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("the row pointers of the sparse rows do not rise from 0 to the number of values")
    if len(indices) and (indices.min() < 0 or indices.max() >= n_columns):
        raise ValueError(f"the sparse rows have values outside of their {n_columns} columns")
    if not np.isfinite(data).all():
        raise ValueError("the sparse rows hold values that are not finite")
