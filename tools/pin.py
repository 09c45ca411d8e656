"""Pin what a file of prismap needs, with hashes: ``python tools/pin.py WHEEL[EXTRAS] FILE``.

pip resolves the requirements without installing anything; the file has a line for each package but prismap itself, as
``pip install --require-hashes`` reads them. Addresses are left out: the hash says what a package is, wherever it is.
"""

import json
import subprocess
import sys
from pathlib import Path


def resolved(what):
    """pip's report on what it would install."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run",
               "--ignore-installed", "--report", "-", what]  # fmt: skip
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def pinned(report):
    """A line for each package of a report, by name."""
    lines = []
    for item in report["install"]:
        name, version = item["metadata"]["name"], item["metadata"]["version"]
        if name == "prismap":
            continue
        lines.append(f"{name}=={version} --hash=sha256:{item['download_info']['archive_info']['hashes']['sha256']}")
    return sorted(lines, key=str.lower)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text("\n".join(pinned(resolved(sys.argv[1]))) + "\n", encoding="utf-8")
