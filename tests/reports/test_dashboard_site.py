"""The files of the dashboard: hostile text stays data, old data goes, and a foreign folder is left alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fuzz_core.ir.errors import UserError
from nightfuzz.reports.dashboard.model import DashboardData, SiteApi, SiteApiDetail, SiteBug, SiteBugDetail
from nightfuzz.reports.dashboard.site import write_site

HOSTILE = "</script><script>alert(1)</script><!-- \u2028 ]]> & 'x' \"y\" \ud800"


def bug(number: int, text: str = "said") -> SiteBug:
    graded = {"grade": "crash", "validity": "valid", "status": "open", "regression": False, "alone": True}
    counts = {"hits": 5, "runs": 5, "findings": 1}
    return SiteBug(
        id=number, cluster=number, title=text, call=text, said=text, api="torch.f", kind="crash", oracle="crash",
        found="2026-11-26T01:00:00+00:00", build="torch-1", since="", engine="freefuzz", **graded, **counts,
    )  # fmt: skip


def detail(text: str = "said") -> SiteBugDetail:
    return SiteBugDetail(
        reason=text, script=text, one_line="", expected=text, observed=text, blame="", frames=(text,), modes={},
        trials={}, probes=(), first_bad="", last_good="", events=(), rules=(), origin="", traced="", minimal="",
        minimised=True, picture="", judged="", entry="", unchecked=(),
    )  # fmt: skip


def site(numbers: tuple[int, ...] = (1,), text: str = "said") -> DashboardData:
    api = SiteApi("torch.f", "torch", "function", "tested", "", 1, 1, 1, 1, 1, 2.0)
    return DashboardData(
        made="2026-11-26T04:00:00+00:00", version="1", builds=(), nights=(), bugs=[bug(each, text) for each in numbers],
        apis=(api,), engines=(), yields=(), judgements=(), pending=0, time={}, growth=(), cells={}, classes=(),
        kinds={}, modes={},
        bug_details={each: detail(text) for each in numbers},
        api_details={"torch.f": SiteApiDetail(text, (), {}, {}, {}, (), (), (), (text,))},
    )  # fmt: skip


def data_of(folder: Path, name: str) -> object:
    text = (folder / "data" / f"{name}.js").read_text(encoding="utf-8")
    found = re.fullmatch(r'nightfuzz\.data\("([\w-]+)", (.*)\);\n', text, re.DOTALL)
    assert found and found[1] == name
    return json.loads(found[2])


@pytest.mark.parametrize("single", [False, True])
def test_hostile_text_is_data_and_no_markup(tmp_path: Path, single: bool) -> None:
    write_site(site(text=HOSTILE), tmp_path / "site", single)
    harmless = write_site(site(), tmp_path / "harmless", single).read_text(encoding="utf-8")
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert page.count("<script") == harmless.count("<script") and page.count("</script") == harmless.count("</script")
    assert page.count("<!--") == harmless.count("<!--")
    files = [path for path in (tmp_path / "site").rglob("*") if path.parent.name != "assets" and path.is_file()]
    assert not [path for path in files if "alert(1)</script" in path.read_text(encoding="utf-8")]


def test_each_page_is_in_the_file_of_data_that_its_number_names(tmp_path: Path) -> None:
    write_site(site((1, 99, 100, 4321)), tmp_path)
    assert {path.stem for path in (tmp_path / "data").iterdir()} == {"index", "bugs-0", "bugs-1", "bugs-43", "apis-0"}
    assert set(data_of(tmp_path, "bugs-0")) == {"1", "99"}  # type: ignore[call-overload]
    assert set(data_of(tmp_path, "bugs-43")) == {"4321"}  # type: ignore[call-overload]


def test_pages_of_an_earlier_dashboard_go(tmp_path: Path) -> None:
    """A bug that has become private since must not stay in the folder."""
    write_site(site((1, 250)), tmp_path)
    assert (tmp_path / "data" / "bugs-2.js").exists()
    write_site(site((1,)), tmp_path)
    assert not (tmp_path / "data" / "bugs-2.js").exists()
    write_site(site((1,)), tmp_path, single=True)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def test_a_folder_with_other_files_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="holds files that do not belong to a dashboard"):
        write_site(site(), tmp_path)
    (tmp_path / "index.html").write_text("<title>mine</title>")
    with pytest.raises(UserError, match="holds files that do not belong to a dashboard"):
        write_site(site(), tmp_path)
    assert (tmp_path / "data" / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("single", [False, True])
def test_the_page_loads_no_address_outside_of_itself(tmp_path: Path, single: bool) -> None:
    page = write_site(site(), tmp_path, single).read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy and policy[1].startswith("default-src 'none'; ")
    assert not re.search(r"https?:|connect-src|\*", policy[1])
    named = re.findall(r'<(?:script|link|img)[^>]* (?:src|href)="([^"]*)"', page)
    assert all(name.startswith(("assets/", "data/index.js", "data:image")) for name in named)
    assert all((tmp_path / name).exists() for name in named if not name.startswith("data:"))
    assert bool(named[1:]) is not single
