#!/usr/bin/env bash
# Build the packages of service and client into dist/, each wheel from its sdist, and check them.
# $1: the folder with the tools, as `make packages` passes it.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$(realpath "$1")
rm -rf dist
export SOURCE_DATE_EPOCH # the same commit gives the same bytes
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
"$tools/pyproject-build" --no-isolation --outdir dist . >/dev/null
"$tools/pyproject-build" --no-isolation --outdir dist clients/python >/dev/null
"$tools/twine" check --strict dist/*
"$tools/check-wheel-contents" dist/*.whl
"$tools/cyclonedx-py" requirements --output-reproducible --pyproject pyproject.toml --output-format JSON \
  --output-file dist/remit.cdx.json requirements/run.txt
(cd dist && sha256sum -- * >SHA256SUMS)
