#!/usr/bin/env bash
# Looks for a Python that nightfuzz can run with: the output `python` is its path, empty where there is none.
set -euo pipefail

if [[ "$(uname -s)" != Linux ]]; then
  echo "::error title=nightfuzz::nightfuzz runs on Linux only. Use a Linux runner: runs-on ubuntu-latest, or your own."
  exit 1
fi
wanted="${WANTED//[[:space:]]/}"
if [[ -n "$wanted" && ! "$wanted" =~ ^3\.(1[1-9]|[2-9][0-9])$ ]]; then
  echo "::error title=nightfuzz::input python-version has to be 3.11 or later, written as 3.12, or empty."
  exit 1
fi
names=("python$wanted")
if [[ -z "$wanted" ]]; then
  names=(python3 python3.14 python3.13 python3.12 python3.11 python)
fi
fits='import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'
for name in "${names[@]}"; do
  if path="$(command -v "$name")" && "$path" -I -c "$fits" 2>/dev/null; then
    echo "python=$path" >> "$GITHUB_OUTPUT"
    echo "Python: $path ($("$path" --version))"
    exit 0
  fi
done
echo "No Python from 3.11 on with venv is here; actions/setup-python gets one."
