"""JSON of our files: read strictly, sealed by a digest, and compared with the form that it should have."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from types import NoneType
from typing import Any

from prismap._util.blocks import require_memory
from prismap.exceptions import FileFormatError

#: Bytes of Python objects that a byte of JSON can become ("[],[],[],..." is the worst case).
JSON_GROWTH = 32
#: The longest JSON that is read.
MOST_JSON_BYTES = 64 * 2**20
#: Whole numbers of our files fit into 64 bits.
MOST_WHOLE = 2**63 - 1
SEAL = "sha256"


class AnyName(dict[Any, Any]):
    """The form of an object whose names are free: ``AnyName({str: float})``."""


def parse_json(text: bytes) -> Any:
    """The value of a JSON text, without NaN, infinite or overlong numbers and half characters (ValueError).

    Other parts of the library, and every reader of what they write, would stumble over these later.
    """
    if len(text) > MOST_JSON_BYTES:
        raise ValueError(f"its JSON takes {len(text)} bytes; at most {MOST_JSON_BYTES} are read")
    require_memory(JSON_GROWTH * len(text), f"JSON of {len(text)} bytes", "Read it on a machine with more memory.")
    value = json.loads(text, parse_int=_whole)
    _canonical(value)
    return value


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with the SHA-256 digest over all else that it holds, whatever the order and the spaces."""
    return {**document, SEAL: hashlib.sha256(_canonical(dict(document))).hexdigest()}


def unsealed(document: Any) -> dict[str, Any]:
    """The document without its digest, or a `FileFormatError` if it does not have the one that it states."""
    if not isinstance(document, dict) or SEAL not in document:
        raise FileFormatError("it states no SHA-256 digest")
    content = {name: value for name, value in document.items() if name != SEAL}
    if sealed(content)[SEAL] != document[SEAL]:
        raise FileFormatError("it was damaged or changed: it does not have the SHA-256 digest that it states")
    return content


def seal_bytes(message: bytes) -> bytes:
    """The message followed by its SHA-256 digest."""
    return message + hashlib.sha256(message).digest()


def unseal_bytes(message: bytes) -> memoryview:
    """The message without its digest, or a `FileFormatError` if it does not have the one that it states."""
    content = memoryview(message)[:-32]
    if len(message) < 32 or hashlib.sha256(content).digest() != message[-32:]:
        raise FileFormatError("it was damaged, cut short or changed: it does not have the SHA-256 digest at its end")
    return content


def check_form(value: Any, form: Any, where: str) -> None:
    """Refuse (ValueError) a JSON value that does not have its form.

    A form is a type (float takes whole numbers, and bool is no number), None, a list with the form of its items, a
    dictionary with the form of each name, `AnyName` with that of all of them, or a tuple of forms of which one must
    fit. Names that end in ``?`` may be missing. `object` takes anything.
    """
    if isinstance(form, tuple):
        if not any(_fits(value, one) for one in form):
            raise ValueError(f"{where} is {_brief(value)}")
        for one in form:
            if _fits(value, one):
                return check_form(value, one, where)
    if not _fits(value, form):
        raise ValueError(f"{where} is {_brief(value)}")
    if isinstance(form, list):
        for k, item in enumerate(value):
            check_form(item, form[0], f"{where}[{k}]")
    elif isinstance(form, AnyName):
        for name, item in value.items():
            check_form(item, form[str], f"{where}[{name[:40]!r}]")
    elif isinstance(form, dict):
        for name, part in form.items():
            key = name.removesuffix("?")
            if key in value:
                check_form(value[key], part, f"{where}.{key}")
            elif key == name:
                raise ValueError(f"{where} has no {name!r}")
    return None


def _fits(value: Any, form: Any) -> bool:
    """Whether a value is of the outermost type of a form."""
    kind: Any = NoneType if form is None else form
    if isinstance(form, (list, dict)):
        kind = list if isinstance(form, list) else dict
    if isinstance(value, bool):
        return kind in (bool, object)
    return isinstance(value, (int, float) if kind is float else kind)


def reason_of(error: BaseException, most: int = 400) -> str:
    """The words of an error without the full stop, cut where a long value of a file stands in them."""
    text = " ".join(str(error).split()).rstrip(".")
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def _brief(value: Any) -> str:
    text = repr(value) if isinstance(value, (str, int, float, bool, NoneType)) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _whole(text: str) -> int:
    number = int(text)
    if abs(number) > MOST_WHOLE:
        raise ValueError(f"it holds the number {text[:40]}, which no file of prismap does")
    return number


def _canonical(value: Any) -> bytes:
    """One text for equal values; half characters and what is not finite have none (ValueError)."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
