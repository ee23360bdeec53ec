#!/bin/sh
# Makes the environment of the stores that the benchmark compares with: sh benchmarks/peers.sh FOLDER
set -eu
python3 -m venv "$1"
"$1/bin/pip" install --quiet --requirement "$(dirname "$0")/requirements.txt"
