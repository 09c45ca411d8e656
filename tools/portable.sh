#!/usr/bin/env bash
# The tests that depend on rounding, under the matrix kernels of other processors, with one and with two threads.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
tests=(
  tests/map/test_other_processors.py::test_the_variable_took_effect
  tests/map/test_other_processors.py::test_choices_are_the_same_under_other_kernels
  tests/test_grid.py tests/test_bundle.py tests/map/test_placing.py tests/map/test_golden.py tests/map/test_cells.py
  tests/map/test_large_placing.py tests/map/test_objects.py tests/metrics/test_nearest.py tests/scale/test_refit.py
  tests/mappings/test_kernel_map.py tests/mappings/test_vote_map.py tests/neighbors
  tests/contracts/test_threads.py tests/contracts/test_ledger.py tests/contracts/test_order.py
)
for kernel in Haswell Sandybridge Prescott; do
  for threads in 1 2; do
    echo "== $kernel, $threads thread(s)"
    OPENBLAS_CORETYPE=$kernel OPENBLAS_NUM_THREADS=$threads OMP_NUM_THREADS=$threads \
      "$python" -m pytest -q "${tests[@]}"
  done
done
