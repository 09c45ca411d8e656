#!/usr/bin/env bash
# Build wheel and sdist, install each in a clean environment outside the tree, and use it as a new user would.
# Usage: tools/smoke_release.sh [folder for the artefacts, default dist]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
dist=${1:-$root/dist}
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fresh() { # a new environment, with pip silent
  "$python" -m venv "$work/$1"
  "$work/$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}"
}

echo "building"
rm -rf "$dist"
fresh build build twine
build() { "$work/build/bin/python" -m build --outdir "$1" "$root" >"$work/build.log" 2>&1 || { tail -30 "$work/build.log"; exit 1; }; }
build "$dist"
wheel=$(ls "$dist"/*.whl) sdist=$(ls "$dist"/*.tar.gz)
"$work/build/bin/python" -m twine check --strict "$wheel" "$sdist"
build "$work/again"
for made in "$wheel" "$sdist"; do cmp "$made" "$work/again/$(basename "$made")" || { echo "two builds differ"; exit 1; }; done
sha256sum "$wheel" "$sdist"
expected=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' "$root/src/prismap/_version.py")

echo "wheel with [plot,io], everything it needs by version and hash, and a list of it: the demo"
"$work/build/bin/python" "$root/tools/pin.py" "$wheel[plot,io]" "$dist/constraints.txt"
fresh wheel --require-hashes -r "$dist/constraints.txt"
"$work/wheel/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$wheel"
"$work/wheel/bin/python" -m pip check
"$work/wheel/bin/python" "$root/tools/sbom.py" "$dist/sbom.cdx.json" plot io
mkdir "$work/there" && cd "$work/there"
bin=$work/wheel/bin
test "$("$bin/prismap" --version)" = "prismap $expected"
"$bin/prismap" demo -o demo --quiet
for file in map.html map.png map.parquet model.prismap report.json; do test -s "demo/$file" || { echo "demo/$file is missing"; exit 1; }; done
# The page must hold all it needs: nothing to load, and a policy that forbids connections.
if grep -oE '<(script|link|img|iframe)[^>]*(src|href)="?(https?:)?//[^">]*' demo/map.html; then echo "the page asks somebody"; exit 1; fi
grep -qE "default-src (&#x27;|')none" demo/map.html || { echo "the page has no policy"; exit 1; }
"$bin/prismap" report demo --quiet >report.txt && test -s report.txt

echo "sdist, no extras: import, fit, save, load"
fresh sdist "$sdist"
cat >use.py <<'PY'
import importlib.metadata
import importlib.resources

import numpy as np
import prismap
from sklearn.datasets import load_iris

assert importlib.metadata.version("prismap") == prismap.__version__
assert (importlib.resources.files("prismap") / "py.typed").is_file()
X, y = load_iris(return_X_y=True)
m = prismap.PrisMap(random_state=0).fit(X, y)
m.save("iris.prismap")
assert np.array_equal(prismap.PrisMap.load("iris.prismap").transform(X[:5]), m.transform(X[:5]))
m.to_html("iris.html")
try:
    m.plot()
except ImportError as error:
    assert "prismap[plot]" in str(error), error
else:
    raise AssertionError("matplotlib is here; this environment is not clean")
PY
"$work/sdist/bin/python" use.py
test -s iris.html
echo "good: $(basename "$wheel"), $(basename "$sdist")"
