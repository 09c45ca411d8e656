#!/usr/bin/env bash
# Is the committed page the one this source builds? Also runs the front end's own checks. Needs node and npm.
set -euo pipefail
cd "$(dirname "$0")"
npm ci --no-audit --no-fund --silent
npm test --silent
npx --no-install tsc --noEmit
out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT
npx --no-install vite build --outDir "$out" --emptyOutDir --logLevel warn
if ! diff -rq "$out" ../src/prismap/page/static; then
  echo "src/prismap/page/static is not what web/ builds: run 'make web' and commit the result." >&2
  exit 1
fi
echo "the committed page is what web/ builds"
