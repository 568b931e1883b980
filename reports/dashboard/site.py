"""The files of the dashboard: pages, scripts and data, in a folder or in one file."""

from __future__ import annotations

import hashlib
import json
import shutil
from base64 import b64encode
from collections.abc import Iterator, Mapping
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from fuzz_core.ir.errors import UserError
from fuzz_core.ir.files import write_whole
from nightfuzz.reports.dashboard.model import DashboardData

# In the order in which they are loaded.
SCRIPTS = (
    "vendor/d3.min.js",
    "vendor/plot.min.js",
    "base.js",
    "table.js",
    "charts.js",
    "overview.js",
    "bugs.js",
    "bug.js",
    "apis.js",
    "builds.js",
    "app.js",
)
STYLE, LICENSES, PAGE = "app.css", "vendor/LICENSES.txt", "index.html"
MARK = '<meta name="generator" content="nightfuzz dashboard">'
# Pages of bugs, and of apis, that one file of data holds.
BUGS, APIS = 100, 50
_DETAILS = ("bug_details", "api_details")
# Scripts of the page alone, and no request to any server. A browser that opens the page from disk needs `file:`.
_POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'self' file: 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def write_site(site: DashboardData, folder: Path, single: bool = False) -> Path:
    """Write the dashboard and return the path of its first page.

    Files of an earlier dashboard in the folder are removed. The page holds all scripts and data if `single` is set.

    Raises:
        UserError: the folder holds other files, or it cannot be written.
    """
    try:
        _clear(folder)
        write_whole(folder / PAGE, _single(site) if single else _linked(site, folder))
    except OSError as error:
        raise UserError(
            f"cannot write the dashboard to {folder}: {error.strerror}",
            "make the folder writable, or name another folder",
        ) from error
    return folder / PAGE


def _clear(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / PAGE
    if page.is_file() and MARK in page.read_text(encoding="utf-8", errors="replace"):
        # Pages of bugs that have become private since must not stay.
        for name in ("assets", "data"):
            shutil.rmtree(folder / name, ignore_errors=True)
        page.unlink()
    elif any(folder.iterdir()):
        raise UserError(f"{folder} holds files that do not belong to a dashboard", "name an empty folder or a new one")


def _linked(site: DashboardData, folder: Path) -> str:
    for name in (*SCRIPTS, STYLE, LICENSES):
        path = folder / "assets" / Path(name).name
        path.parent.mkdir(exist_ok=True)
        path.write_text(_asset(name), encoding="utf-8")
    (folder / "data").mkdir()
    for name, value in _parts(site):
        (folder / "data" / f"{name}.js").write_text(f"nightfuzz.data({_json(name)}, {_json(value)});\n", "utf-8")
    tags = [f'<script src="assets/{Path(name).name}"></script>' for name in SCRIPTS]
    # The first data stands between the scripts and the one that starts the page.
    tags.insert(-1, '<script src="data/index.js"></script>')
    return _page(f'<link rel="stylesheet" href="assets/{STYLE}">', tags, "'self' file:")


def _single(site: DashboardData) -> str:
    scripts = [_asset(name).strip() for name in SCRIPTS]
    digests = (b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    data = [
        f'<script type="application/json" id="data-{escape(name)}">{_json(value)}</script>'
        for name, value in _parts(site)
    ]
    tags = [*data, *(f"<script>{text}</script>" for text in scripts)]
    licences = f"<!--\n{_asset(LICENSES).replace('--', '- -')}\n-->"
    policy = " ".join(f"'sha256-{digest}'" for digest in digests)
    return _page(f"{licences}\n<style>{_asset(STYLE)}</style>", tags, policy)


def _page(styles: str, tags: list[str], policy: str) -> str:
    parts = {"policy": _POLICY.format(scripts=policy), "styles": styles, "scripts": "\n".join(tags)}
    page = _asset(PAGE)
    for name, text in parts.items():
        page = page.replace(f"{{{{{name}}}}}", text)
    return page


def _parts(site: DashboardData) -> Iterator[tuple[str, Any]]:
    """Yield the files of data by name: the lines of all lists, then the pages of bugs and of apis in equal parts."""
    yield "index", {name: value for name, value in vars(site).items() if name not in _DETAILS}
    bugs: dict[int, dict[int, Any]] = {}
    for number, bug in site.bug_details.items():
        bugs.setdefault(number // BUGS, {})[number] = bug
    yield from ((f"bugs-{part}", pages) for part, pages in sorted(bugs.items()))
    places = [api.name for api in site.apis]
    for start in range(0, len(places), APIS):
        found: Mapping[str, Any] = {name: site.api_details[name] for name in places[start : start + APIS]}
        yield f"apis-{start // APIS}", found


def _json(value: Any) -> str:
    """JSON that is safe inside of a script element, and in UTF-8."""
    text = json.dumps(value, default=vars, ensure_ascii=False, separators=(",", ":")).translate(_SAFE)
    return text.encode("utf-8", "backslashreplace").decode()


_SAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def _asset(name: str) -> str:
    return resources.files("nightfuzz.reports.dashboard").joinpath("assets", *name.split("/")).read_text("utf-8")
