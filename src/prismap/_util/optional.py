"""Optional packages, imported when they are needed and asked for by the name of their extra."""

from __future__ import annotations

import importlib
from types import ModuleType

from prismap.exceptions import MissingExtraError


def import_extra(module: str, *, extra: str, feature: str) -> ModuleType:
    """Import `module`, or say which extra brings it and what it was needed for.

    >>> import_extra("math", extra="plot", feature="sums").floor(2.5)
    2
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        message = f"{feature} needs the package '{package}'. Install it with: pip install 'prismap[{extra}]'"
        raise MissingExtraError(message) from error
