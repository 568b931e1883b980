#!/usr/bin/env bash
# Installs nightfuzz into an environment of its own, once a job: the output `command` is its path.
set -euo pipefail

home="$RUNNER_TEMP/nightfuzz-installed"
from="$GITHUB_ACTION_PATH by $PYTHON"
if [[ ! -f "$home/from" || "$(cat "$home/from")" != "$from" ]]; then
  echo "::group::Installing nightfuzz"
  # From a copy: other jobs of this runner use the same folder, and a build writes into it.
  source="$(mktemp -d -p "$RUNNER_TEMP")"
  tar -C "$GITHUB_ACTION_PATH" --exclude='./.*' -c . | tar -C "$source" -x
  "$PYTHON" -I -m venv --clear "$home"
  "$home/bin/python" -I -m pip install --quiet --disable-pip-version-check "$source"
  rm -rf "$source"
  echo "$from" > "$home/from"
  echo "::endgroup::"
fi
echo "command=$home/bin/nightfuzz" >> "$GITHUB_OUTPUT"
