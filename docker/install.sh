#!/bin/sh
# Installs the project into a virtual environment: locked dependencies by their hashes first, then both distributions of
# this folder without dependencies. Used by the Makefile and by the Dockerfile.
#
#   docker/install.sh PYTHON VENV LOCKFILE
set -eu
python=$1 venv=$2 lock=$3

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "ReviewHub needs Python 3.11 or newer; $python is $("$python" -V 2>&1). Try: make PYTHON=python3.12 …" >&2
    exit 1
}
if [ ! -x "$venv/bin/pip" ]; then
    echo "Making a virtual environment in $venv"
    "$python" -m venv "$venv" || {
        rm -rf "$venv"
        echo "python3 cannot make a virtual environment here. On Debian: apt-get install python3-venv" >&2
        exit 1
    }
fi
echo "Installing $lock"
"$venv/bin/pip" install -qq --require-hashes -r "$lock"
"$venv/bin/pip" install -qq --no-deps --no-build-isolation -e . -e agents
