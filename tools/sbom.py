"""Write what an installed prismap consists of as a CycloneDX 1.5 document: ``python tools/sbom.py FILE [EXTRA ...]``.

Everything is from the metadata of the packages that are installed where this runs: nothing is asked of a network.
"""

import importlib.metadata as metadata
import json
import re
import sys
import uuid
from pathlib import Path

from packaging.requirements import Requirement

ROOT = "prismap"


def plain(name):
    """A name as package indices spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(name, extras=()):
    """Names of the installed packages that a package needs by itself and for some of its extras."""
    for line in metadata.requires(name) or ():
        requirement = Requirement(line)
        wanted = requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in ("", *extras))
        if wanted:
            yield requirement.name, tuple(requirement.extras)


def closure(name, extras):
    """Every package reached from one, by its plain name: (distribution, plain names of what it needs)."""
    found, waiting = {}, [(name, tuple(extras))]
    while waiting:
        name, extras = waiting.pop()
        own = list(needed(name, extras))
        before = found.get(plain(name), (None, set()))[1]
        after = before | {plain(other) for other, _ in own}
        if plain(name) in found and after == before:
            continue
        found[plain(name)] = (metadata.distribution(name), after)
        waiting += own
    return found


def component(name, about):
    """A package in the words of CycloneDX."""
    stated = about.metadata.get("License-Expression") or about.metadata.get("License") or ""
    licences = [{"license": {"name": stated}}] if stated and "\n" not in stated and len(stated) < 80 else []
    reference = f"pkg:pypi/{name}@{about.version}"
    kind = "application" if name == ROOT else "library"
    return {"type": kind, "bom-ref": reference, "name": name, "version": about.version, "purl": reference,
            "licenses": licences}  # fmt: skip


def bill(extras):
    """The whole document."""
    found = closure(ROOT, extras)
    parts = {name: component(name, about) for name, (about, _) in sorted(found.items())}
    content = json.dumps(list(parts.values()))
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}",  # the same for the same parts
        "metadata": {"component": parts.pop(ROOT)}, "components": list(parts.values()),
        "dependencies": [
            {"ref": f"pkg:pypi/{name}@{about.version}",
             "dependsOn": [f"pkg:pypi/{other}@{found[other][0].version}" for other in sorted(others)]}
            for name, (about, others) in sorted(found.items())
        ],
    }  # fmt: skip


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(bill(sys.argv[2:]), indent=2) + "\n", encoding="utf-8")
