"""Damaged tables in every format: read, or refused in words. ``python -m hardening.garbling FOLDER FIRST LAST``."""

import gzip
import io
import json
from pathlib import Path

import numpy as np

from hardening.cases import arguments, in_words, run_cases
from prismap.exceptions import InputError
from prismap.tables import Roles, read_batches, read_table
from prismap.tables import _delimited as delimited

WORDS = ("a", "b, c", 'd"e', "ü", "", "NA", "nan", "1e999", "00001", "9" * 30, "\u202e", "-", "1;2", "\t")


def whole_tables():
    """A small table in every format, as bytes."""
    import pyarrow as pa
    from pyarrow import feather, parquet

    rng = np.random.default_rng(0)
    X, words = rng.normal(size=(20, 2)), [WORDS[i % len(WORDS)] for i in range(20)]
    table = pa.table({"p": X[:, 0], "q": X[:, 1], "word": words})
    found = {}
    for ending, mark in (("csv", ","), ("tsv", "\t")):
        quoted = ['"' + word.replace('"', '""') + '"' for word in words]
        lines = [mark.join(("p", "q", "word"))]
        lines += [mark.join((str(a), str(b), word)) for (a, b), word in zip(X, quoted, strict=True)]
        found[ending] = "\n".join(lines).encode()
    for ending, write in (
        ("parquet", lambda file: parquet.write_table(table, file)),
        ("arrow", lambda file: feather.write_feather(table, file)),
        ("feather", lambda file: write_stream(table, file)),
        ("xlsx", lambda file: write_sheet(X, words, file)),
        ("npz", lambda file: np.savez_compressed(file, X=X, y=np.arange(20) % 2)),
        ("npy", lambda file: np.save(file, X)),
    ):
        buffer = io.BytesIO()
        write(buffer)
        found[ending] = buffer.getvalue()
    records = [{"p": a, "q": b, "word": word} for (a, b), word in zip(X.tolist(), words, strict=True)]
    found["json"] = json.dumps(records, indent=1).encode()
    found["jsonl"] = "\n".join(map(json.dumps, records)).encode()
    return found | {f"{ending}.gz": gzip.compress(found[ending]) for ending in ("csv", "jsonl")}


def write_stream(table, file):
    """A stream of record batches, one of which has a dictionary."""
    import pyarrow as pa

    coded = table.set_column(2, "word", table.column("word").dictionary_encode())
    with pa.ipc.new_stream(file, coded.schema) as writer:
        writer.write_table(coded, max_chunksize=12)


def write_sheet(X, words, file):
    """A workbook."""
    import openpyxl

    book = openpyxl.Workbook()
    for row in [("p", "q", "word"), *((a, b, word) for (a, b), word in zip(X.tolist(), words, strict=True))]:
        book.active.append(row)
    book.save(file)


def garbled(data, rng):
    """Bytes with one to three lumps overwritten, cut out, doubled or put in, or the end cut off."""
    for _ in range(rng.integers(1, 4)):
        start, length = int(rng.integers(len(data) + 1)), int(rng.choice((1, 1, 2, 8, 64)))
        word = WORDS[rng.integers(len(WORDS))].encode()
        middle = [
            rng.bytes(length), b"", 2 * data[start : start + length], rng.bytes(length) + data[start : start + length],
            word, b'"', b"\0", b"\r\n",
        ]  # fmt: skip
        end = len(data) if rng.random() < 0.05 else start + length
        data = data[:start] + middle[rng.integers(len(middle))] + data[end:]
    return data


def main(folder, first, last):
    """Run cases in this process."""
    whole = whole_tables()
    endings = sorted(whole)
    delimited.ARROW_BYTES = 0  # files as small as these are left to the csv module otherwise

    def run(case):
        rng = np.random.default_rng([21, case])
        ending = endings[case % len(endings)]
        path = Path(folder) / f"t.{ending}"
        path.write_bytes(garbled(whole[ending], rng))
        roles = (Roles(), Roles(target="word"), Roles(ids="word"))[rng.integers(3)]
        ends = [_use(lambda: read_table(path, roles).n_rows > 0)]
        ends.append(_use(lambda: all(part.n_rows for part in read_batches(path, ["p", "q"], roles, n_rows=7))))
        return next((end for end in ends if end not in ("used", "refused")), ends[0])

    run_cases(run, folder, first, last)


def _use(read):
    try:
        return "used" if read() else "a table without rows"
    except InputError as error:
        return in_words(error)


if __name__ == "__main__":
    main(*arguments())
