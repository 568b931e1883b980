#!/usr/bin/env bash
# install.sh PYTHON ENVIRONMENT NAME: a virtual environment with the packages of requirements/NAME.txt, checked by hash.
#
# It uses uv if that is installed, and pip else. An environment that is there keeps what else it holds.
set -euo pipefail

# The working folder changes below. A link to an interpreter stays one: it belongs to an environment.
python="$(realpath --no-symlinks "$(command -v "$1")")" environment="$2"
locked="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/$3.txt"
# The sources of a pull request may lie in the working folder: neither tool may read its settings or modules there.
cd "$(dirname "$(mkdir -p "$environment" && cd "$environment" && pwd)")"
environment="$PWD/$(basename "$environment")"
if command -v uv > /dev/null; then
  [[ -x "$environment/bin/python" ]] || uv venv --quiet --no-project --no-config --python "$python" "$environment"
  uv pip install --quiet --no-config --require-hashes --python "$environment/bin/python" --requirement "$locked"
else
  [[ -x "$environment/bin/python" ]] || "$python" -I -m venv "$environment"
  "$environment/bin/python" -I -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes --requirement "$locked"
fi

# A job with a token calls nothing that needs them, though a dependency names pip.
if [[ "$3" == report ]]; then
  if command -v uv > /dev/null; then
    uv pip uninstall --quiet --no-config --python "$environment/bin/python" pip
  else
    "$environment/bin/python" -I -m pip uninstall --quiet --yes setuptools pip
  fi
fi
