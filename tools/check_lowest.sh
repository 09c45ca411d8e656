#!/usr/bin/env bash
# Install the lowest versions that pyproject.toml allows in a clean environment and run the heart of the tests there.
# Usage: tools/check_lowest.sh [tests, default the metric, the map, placing, files, the explorer, Dask and contracts]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tests=("$@")
if [ ${#tests[@]} -eq 0 ]; then
  tests=(tests/metrics/test_fisher.py tests/neighbors tests/embeddings/test_tsne.py tests/mappings/test_kernel_map.py
    tests/map/test_placing.py tests/map/test_prismap.py tests/test_bundle.py tests/hardening
    tests/page tests/scale/test_run.py tests/scale/test_cluster.py tests/scale/test_lazy.py
    tests/contracts/test_rooms.py tests/contracts/test_estimators.py)
fi

# numpy>=2.0 becomes numpy==2.0, and so on: the dependencies every user has, those that read, draw, serve, distribute and
# load models, and the testers. Cells are left out: anndata brings array-api-compat, beside which scikit-learn 1.6 does not
# let skops be imported. matplotlib 3.9 warns of names that pyparsing gave up in 3.3.
pins=$("$python" - "$root/pyproject.toml" <<'PY'
import sys
import tomllib

project = tomllib.load(open(sys.argv[1], "rb"))["project"]
extras = project["optional-dependencies"]
testers = [line for line in extras["dev"] if line.startswith(("pytest>=", "hypothesis>=", "pandas>=", "polars>=", "httpx>="))]
wanted = [line for name in ("plot", "io", "excel", "explorer", "notebook", "distributed", "models", "onnx") for line in extras[name]]
print(" ".join(line.replace(">=", "==") for line in dict.fromkeys((*project["dependencies"], *wanted, *testers))))
PY
)
pins="$pins pyparsing<3.3"
"$python" -m venv "$work/env"
bin=$work/env/bin
echo "lowest: $pins"
# shellcheck disable=SC2086
"$bin/python" -m pip install --quiet --disable-pip-version-check $pins
"$bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$root"
cd "$root"
"$bin/python" -m pytest -o addopts="-ra --strict-markers --import-mode=importlib" -p no:cacheprovider -q "${tests[@]}"
echo "good: $("$bin/python" -m pip list --disable-pip-version-check 2>/dev/null | grep -iE '^(numpy|scipy|scikit-learn|openTSNE|matplotlib|pyarrow|starlette|uvicorn|distributed) ' | tr -s ' ' | paste -sd,)"
