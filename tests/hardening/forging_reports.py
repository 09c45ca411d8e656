"""Damaged and forged reports: printed by ``prismap report``, or refused in words.

``python -m hardening.forging_reports FOLDER FIRST LAST``. A third of the cases are damaged bytes, which must be
noticed. The others have values that were changed and a digest that is right.
"""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

from hardening.cases import arguments, changed_plain, memory_of, run_cases
from hardening.garbling import garbled
from prismap import PrisMap
from prismap.bundle._json import sealed
from prismap.cli.console import to_json
from prismap.cli.main import main as prismap


def whole_reports(folder):
    """Reports of maps with classes, a real target, several targets and none; made once in a folder."""
    path = folder / "reports.json"
    if not path.exists():
        rng = np.random.default_rng(0)
        X = np.vstack([rng.normal(k, 0.6, size=(20, 4)) for k in (0, 3, 6)])
        y = np.repeat(["a", "b", "c"], 20)
        targets = [y, X[:, 0] + rng.normal(size=60), None]
        models = [PrisMap(random_state=0, perplexity=8).fit(X, target) for target in targets]
        documents = [json.loads(to_json(model.report(budget="quick", verbose=0).to_dict())) for model in models]
        path.write_text(json.dumps(documents))
    return json.loads(path.read_text())


def printed(path, *options):
    """Exit code, output and errors of ``prismap report``."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = prismap(["report", str(path), *options])
    return code, out.getvalue(), err.getvalue()


def main(folder, first, last):
    """Run cases in this process."""
    reports, path = whole_reports(Path(folder)), Path(folder) / "report.json"
    texts = []
    for document in reports:
        path.write_text(to_json(sealed(document)), encoding="utf-8")
        texts.append(printed(path)[1])

    def use(expected):
        for options in ((), ("--details",), ("--json",)):
            code, out, err = printed(path, *options)
            if code == 2:
                return "refused" if err.count("\n") == 1 and len(err) < 2000 else f"a long story: {err[:200]!r}"
            if code:
                return f"code {code}: {err[-300:]}"
            if expected is not None and not options and out != expected:
                return "another report"
        return "used"

    def run(case):
        rng = np.random.default_rng([24, case])
        document, expected = reports[case % len(reports)], texts[case % len(reports)]
        if case % 3 == 0:
            document, expected = reports[case // 3 % len(reports)], texts[case // 3 % len(reports)]
            path.write_bytes(garbled(to_json(sealed(document)).encode(), rng))
        else:
            try:
                text = json.dumps(sealed(changed_plain(document, rng)))
            except (ValueError, UnicodeEncodeError):  # values that have no digest are written under a wrong one
                text = json.dumps({**changed_plain(document, rng), "sha256": "0" * 64})
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            expected = None
        return use(expected) if case % 10 else memory_of(lambda: use(expected), 32 * path.stat().st_size)

    run_cases(run, folder, first, last)


if __name__ == "__main__":
    main(*arguments())
