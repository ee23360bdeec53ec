#!/bin/sh
# Writes requirements/*.txt anew from requirements/*.in, with hashes and without any address.
#
#   docker/lock.sh PYTHON
set -eu
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"$1" -m venv "$tools"
"$tools/bin/pip" install --quiet pip-tools
compile() {
    "$tools/bin/pip-compile" --quiet --upgrade --allow-unsafe --generate-hashes --strip-extras \
        --no-emit-index-url --no-emit-trusted-host --no-emit-find-links "$@"
}
compile --output-file=requirements/dev.txt requirements/dev.in
# The same versions in both, so that what is tested is what runs.
compile --constraint=requirements/dev.txt --output-file=requirements/base.txt requirements/base.in
