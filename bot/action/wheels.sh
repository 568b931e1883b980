#!/usr/bin/env bash
# Names the folder that keeps the downloads of this lock for this Python: the outputs `folder` and `key`.
#
# A runner of one's own keeps its folder of tools, and so these files; on GitHub's machines a cache of the repository does.
set -euo pipefail

lock="$GITHUB_ACTION_PATH/requirements/$LOCK.txt"
machine="$("$PYTHON" -I -c 'import sys, sysconfig; print(sys.version, sysconfig.get_platform())')"
key="nightfuzz-wheels-$LOCK-$( (echo "$machine"; cat "$lock") | sha256sum | cut --characters=1-32)"
place="${RUNNER_TOOL_CACHE:-$RUNNER_TEMP}/nightfuzz"
if ! mkdir -p "$place" 2> /dev/null || [[ ! -w "$place" ]]; then
  place="$RUNNER_TEMP/nightfuzz-wheels"
  mkdir -p "$place"
fi
# Those of older locks, and what a job that was killed has left.
find "$place" -mindepth 1 -maxdepth 1 -name 'nightfuzz-wheels-*' -mtime +30 -exec rm -rf {} +
[[ ! -d "$place/$key" ]] || touch "$place/$key"
echo "folder=$place/$key" >> "$GITHUB_OUTPUT"
echo "key=$key" >> "$GITHUB_OUTPUT"
