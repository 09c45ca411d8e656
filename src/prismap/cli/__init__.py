"""The command line. `entry` is what the command `prismap` calls."""

from __future__ import annotations

import sys


def entry() -> int:
    """Run the command; Ctrl-C while its modules are still being imported ends it as later, with one line."""
    try:
        from prismap.cli.main import main

        return main()
    except KeyboardInterrupt:
        sys.stderr.write("prismap: stopped\n")
        return 130
