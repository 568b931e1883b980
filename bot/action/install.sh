#!/usr/bin/env bash
# Installs nightfuzz into an environment of its own, once a job: the output `command` is its path.
set -euo pipefail

home="$RUNNER_TEMP/nightfuzz-installed"
from="$GITHUB_ACTION_PATH by $PYTHON"
installed="$(cat "$home/from" 2> /dev/null || true)"
# What the lock `app` installs is enough for every job.
if [[ "$installed" != "$from with $LOCK" && "$installed" != "$from with app" ]]; then
  echo "::group::Installing nightfuzz"
  rm -rf "$home"
  # From a copy: other jobs of this runner use the same folder. It stays: the sandbox's image is built from it.
  mkdir -p "$home/source"
  tar -C "$GITHUB_ACTION_PATH" --exclude=./.git --exclude=./.venv --exclude=./.nightfuzz --exclude='./.*_cache' -c . \
    | tar -C "$home/source" -x
  bash "$home/source/requirements/install.sh" "$PYTHON" "$home/venv" "$LOCK" "$WHEELS"
  echo "$home/source" > "$("$home/venv/bin/python" -I -c 'import site; print(site.getsitepackages()[0])')/nightfuzz.pth"
  cat > "$home/venv/bin/nightfuzz" << END
#!/usr/bin/env bash
exec "$home/venv/bin/python" -P -m nightfuzz.bot.main "\$@"
END
  chmod +x "$home/venv/bin/nightfuzz"
  echo "$from with $LOCK" > "$home/from"
  echo "::endgroup::"
fi
echo "command=$home/venv/bin/nightfuzz" >> "$GITHUB_OUTPUT"
