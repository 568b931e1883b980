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

pip() { "$environment/bin/python" -I -m pip "$1" --quiet --disable-pip-version-check "${@:2}"; }
locked() { pip "$1" --require-hashes --requirement "$locked" "${@:2}"; }
from_wheels() { [[ -d "$wheels" ]] && locked install --no-compile --no-index --find-links "$wheels"; }

if [[ -z "$wheels" ]] && command -v uv > /dev/null; then
  pip() { uv pip "$1" --quiet --no-config --python "$environment/bin/python" "${@:2}"; }
  [[ -x "$environment/bin/python" ]] || uv venv --quiet --no-project --no-config --python "$python" "$environment"
  locked install
else
  [[ -x "$environment/bin/python" ]] || "$python" -I -m venv "$environment"
  if [[ -z "$wheels" ]]; then
    locked install --no-compile
  elif ! from_wheels 2> /dev/null; then
    # Into a folder of its own first: another job may do the same at the same time.
    fresh="$(mktemp --directory "$wheels.XXXXXX")"
    locked download --dest "$fresh"
    rm -rf "$wheels"
    mv --no-target-directory "$fresh" "$wheels" || wheels="$fresh"
    from_wheels
  fi
fi

# A job with a token calls nothing that needs these packages, though a dependency names pip. Rapidfuzz carries its code a
# second time for newer processors, and takes the first if the second is absent.
if [[ "$3" == report ]]; then
  find "$environment"/lib/python3*/site-packages/rapidfuzz -name '*_avx2.*' -delete
  rm -rf "$environment"/lib/python3*/site-packages/{pip,pip-*,setuptools,setuptools-*,pkg_resources,_distutils_hack,distutils-precedence.pth}
fi
