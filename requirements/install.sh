#!/usr/bin/env bash
# install.sh PYTHON ENVIRONMENT NAME [WHEELS]: a virtual environment with the packages of requirements/NAME.txt.
#
# Each package is checked against the hash in that lock. It uses uv if that is installed, and pip else. An environment
# that is there keeps what else it holds. WHEELS is a folder that keeps the downloads: they are checked against the lock
# each time, so whoever else writes there can only make the installation slower. uv is not used then, as it keeps
# unpacked files, which nobody checks again.
set -euo pipefail

# The working folder changes below. A link to an interpreter stays one: it belongs to an environment.
python="$(realpath --no-symlinks "$(command -v "$1")")" environment="$2" wheels="${4:-}"
locked="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/$3.txt"
# The sources of a pull request may lie in the working folder: neither tool may read its settings or modules there.
cd "$(dirname "$(mkdir -p "$environment" && cd "$environment" && pwd)")"
environment="$PWD/$(basename "$environment")"

pip() { "$environment/bin/python" -I -m pip "$1" --quiet --disable-pip-version-check --require-hashes --requirement "$locked" "${@:2}"; }
from_wheels() { [[ -d "$wheels" ]] && pip install --no-index --find-links "$wheels" --no-compile; }

if [[ -z "$wheels" ]] && command -v uv > /dev/null; then
  [[ -x "$environment/bin/python" ]] || uv venv --quiet --no-project --no-config --python "$python" "$environment"
  uv pip install --quiet --no-config --require-hashes --python "$environment/bin/python" --requirement "$locked"
  exit
fi
[[ -x "$environment/bin/python" ]] || "$python" -I -m venv "$environment"
if [[ -z "$wheels" ]]; then
  pip install
elif ! from_wheels 2> /dev/null; then
  # Into a folder of its own first: another job may do the same at the same time.
  fresh="$(mktemp --directory "$wheels.XXXXXX")"
  pip download --dest "$fresh"
  rm -rf "$wheels"
  mv --no-target-directory "$fresh" "$wheels" || wheels="$fresh"
  from_wheels
fi
