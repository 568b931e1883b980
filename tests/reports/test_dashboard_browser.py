"""The dashboard in a real browser: every page, filters, addresses, the keyboard, themes, widths, and accessibility."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

# `make` installs both; an environment that is older than the lock lacks them.
pytest.importorskip("playwright", reason="run `make check`: it installs what the tests need")
pytest.importorskip("axe_playwright_python", reason="run `make check`: it installs what the tests need")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from bench.made_state import StateSize, make_state
from fuzz_core.campaign.dashboard.collection import public_site
from fuzz_core.triage.known import Registry
from nightfuzz.reports.dashboard.site import write_site

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
SIZE = StateSize(bugs=240, builds=12, findings=600, apis=120, checks=960, judged=20)
PAGES = {
    "overview": "#/",
    "bugs": "#/bugs",
    "bug": "#/bugs/12",
    "apis": "#/apis",
    "module": "#/apis?module=torch.linalg",
    "api": "#/apis/torch.linalg.pool_0",
    "builds": "#/builds",
    "build": "#/builds/torch-2.14.0.dev20251204",
    "engines": "#/engines",
    "judgements": "#/judgements",
    "missing": "#/bugs/99999",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("dashboard")
    state = make_state(root / "state.db", SIZE)
    site = public_site(state, Registry(), lambda: datetime(2026, 11, 26, 4, tzinfo=UTC))
    write_site(site, root / "linked")
    write_site(site, root / "single", single=True)
    return root


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Root may not use the sandbox of Chromium.
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class Visit:
    """A page of the site in a window of its own, with all that its console said and all that it asked for."""

    def __init__(self, page: Page, index: Path) -> None:
        self.page = page
        self.index = index
        self.faults: list[str] = []
        page.on("console", lambda said: self.faults.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", lambda asked: self._asked(asked.url))

    def _asked(self, url: str) -> None:
        if not url.startswith((self.index.parent.as_uri(), "data:")):
            self.faults.append(f"asked for {url}")

    def to(self, address: str) -> Page:
        """Open an address as from a link in a mail."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.index.as_uri()}{address}")
        self.page.wait_for_selector("html[data-ready]")
        return self.page


@pytest.fixture
def visit(browser: Browser, folder: Path, request: pytest.FixtureRequest) -> Iterator[Visit]:
    given = {"width": 1280, "theme": "light", "form": "linked"} | getattr(request, "param", {})
    size = {"width": given["width"], "height": 900}
    context = browser.new_context(viewport=size, color_scheme=given["theme"])  # type: ignore[arg-type]
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    made = Visit(context.new_page(), folder / str(given["form"]) / "index.html")
    yield made
    context.close()
    assert made.faults == []


WINDOWS = [{"width": width, "theme": theme} for width in (390, 1280, 1920) for theme in ("light", "dark")]


@pytest.mark.parametrize("visit", [*WINDOWS, {"form": "single"}], indirect=True, ids=str)
def test_every_page_is_drawn_and_fits_the_window(visit: Visit) -> None:
    for name, address in PAGES.items():
        page = visit.to(address)
        assert page.locator("main h1").count() == 1, name
        assert ("is not here" in page.inner_text("h1")) is (name == "missing")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name} is {wide} pixels too wide"


@pytest.mark.parametrize("visit", [{"theme": "light"}, {"theme": "dark", "width": 390}], indirect=True, ids=str)
def test_axe_finds_no_serious_fault(visit: Visit) -> None:
    found = []
    for name, address in PAGES.items():
        faults = Axe().run(visit.to(address)).response["violations"]
        grave = [fault for fault in faults if fault["impact"] in ("serious", "critical")]
        found += [(name, fault["id"], [node["html"][:200] for node in fault["nodes"][:3]]) for fault in grave]
    # axe asks for the style sheet, which the page's policy forbids.
    visit.faults.clear()
    assert found == []


def address_of(page: Page) -> str:
    """The address in the page's own words: the browser's driver hears of a new one later."""
    return str(page.evaluate("location.href"))


def rows(page: Page) -> list[str]:
    return page.locator("main .list tbody tr td:nth-child(1)").all_inner_texts()


def test_a_filter_is_a_part_of_the_address(visit: Visit) -> None:
    page = visit.to("#/bugs")
    everything = len(rows(page))
    page.get_by_label("Severity").select_option("crash")
    page.get_by_label("Filter causes by words").fill("torch.fft")
    assert "grade=crash" in address_of(page) and "q=torch.fft" in address_of(page)
    chosen = rows(page)
    assert 0 < len(chosen) < everything
    assert rows(visit.to(f"#{address_of(page).partition('#')[2]}")) == chosen
    page.get_by_label("Filter causes by words").fill("no such words")
    expect(page.locator("main tbody")).to_contain_text("Remove a filter")


def test_a_head_sorts_both_ways_and_back(visit: Visit) -> None:
    page = visit.to("#/builds")
    names, tests = rows(page), page.get_by_role("button", name="Tests", exact=True)
    counts = page.locator("main .list tbody td:nth-child(8)")

    def shown() -> list[int]:
        return [int(text.replace(",", "")) for text in counts.all_inner_texts()]

    tests.click()
    assert shown() == sorted(shown(), reverse=True) and "sort=-tests" in address_of(page)
    tests.click()
    assert shown() == sorted(shown())
    expect(page.get_by_role("columnheader", name="Tests", exact=True)).to_have_attribute("aria-sort", "ascending")
    tests.click()
    assert rows(page) == names


def test_the_back_button_returns_to_the_filtered_list(visit: Visit) -> None:
    page = visit.to("#/bugs")
    page.get_by_label("Severity").select_option("crash")
    chosen = rows(page)
    page.locator("main tbody a").first.click()
    expect(page.get_by_role("heading", name="Minimal script")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Bugs", exact=True)).to_be_visible()
    assert rows(page) == chosen


def test_the_script_can_be_copied(visit: Visit) -> None:
    page = visit.to("#/bugs/12")
    page.get_by_role("button", name="Copy").first.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith("import torch\n")


def test_the_keyboard_is_enough(visit: Visit) -> None:
    page = visit.to("#/bugs")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#jump")).to_be_focused()
    page.keyboard.type("12")
    page.keyboard.press("Enter")
    expect(page.locator("main .trail")).to_have_text("Bugs / 12")
    page = visit.to("#/builds")
    page.get_by_role("button", name="Open after").focus()
    page.keyboard.press("Enter")
    assert "sort=-open" in address_of(page)


def test_each_question_takes_at_most_two_clicks_from_the_overview(visit: Visit) -> None:
    page = visit.to("#/")
    broke = page.locator("section", has=page.get_by_role("heading", name="What broke"))
    assert broke.locator("li").count() > 0  # what broke last night: no click
    report = page.locator("section", has=page.get_by_role("heading", name="Report first"))
    assert report.locator("li").count() > 0  # what to report first: no click
    page.locator("#jump").fill("7")  # is bug 7 fixed in the nightly: one search
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("Newest tried build")
    expect(page.locator("main")).to_contain_text("first bad build")  # which build brought it: the same page
    page = visit.to("#/")
    page.get_by_role("link", name="apis").last.click()  # which apis of torch.linalg are untested, and why
    page.locator("svg.treemap text.name", has_text="torch.linalg").click()
    expect(page.get_by_role("heading", name="torch.linalg", exact=True)).to_be_visible()
    names = page.locator("main .list tbody tr")
    assert names.count() > 0
    assert all("torch.linalg." in text and "not traced" in text for text in names.all_inner_texts())


def test_the_map_is_coloured_by_cells_and_a_page_lists_them(visit: Visit) -> None:
    page = visit.to("#/apis")
    page.get_by_label("Colour").select_option("untried")
    assert "colour=untried" in address_of(page)
    expect(page.locator("main .lead")).to_contain_text("of 1,800 cells tried in 90 apis")
    fills = page.locator("svg.treemap rect.leaf").evaluate_all("all => [...new Set(all.map(each => each.style.fill))]")
    assert "var(--missing)" in fills and len(fills) > 1
    page = visit.to("#/apis/torch.linalg.pool_0")
    cells = page.locator("section", has=page.get_by_role("heading", name="Boundary classes of its arguments"))
    expect(cells).to_contain_text("20 cells tried")
    expect(cells.get_by_role("row", name="dim unreachable")).to_contain_text("no such dtype")
    expect(cells.get_by_role("row", name="dim unreachable")).to_contain_text("Boundary Integer: ")
    page = visit.to("#/")
    expect(page.locator("section", has_text="Sweep of boundary classes")).to_contain_text("by their result")


def test_a_printed_page_has_no_controls(visit: Visit) -> None:
    page = visit.to("#/bugs/12")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible() and not page.locator("#jump").is_visible()
    assert not page.get_by_role("button", name="Copy").first.is_visible()
    assert page.get_by_role("heading", name="Minimal script").is_visible()


def test_a_missing_file_of_data_is_one_message(visit: Visit, folder: Path) -> None:
    page = visit.to("#/bugs")
    page.evaluate("() => { nightfuzz.part = () => Promise.reject(new Error('data/bugs-0.js is missing')); }")
    page.locator("main tbody a").first.click()
    expect(page.locator("main")).to_contain_text("data/bugs-0.js is missing")
    assert len(visit.faults) == 1
    visit.faults.clear()
