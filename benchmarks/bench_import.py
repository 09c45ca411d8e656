"""What `import prismap` costs beside `import sklearn`, each in a new process."""

from __future__ import annotations

import subprocess
import sys


def start(code):
    """Run one line in a new process."""
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)


def cases(data_folder=None):
    """The bare import, and the main object with all it needs."""
    yield {
        "name": "import prismap, against import sklearn",
        "ours": start("import prismap"),
        "theirs": start("import sklearn"),
    }
    whole = "import sklearn.manifold, sklearn.neighbors, sklearn.svm, openTSNE"
    yield {
        "name": "from prismap import PrisMap, against scikit-learn's manifold, neighbors, svm and openTSNE",
        "ours": start("from prismap import PrisMap"),
        "theirs": start(whole),
    }
