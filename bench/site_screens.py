"""Pictures of a dashboard: `python -m bench.site_screens SITE FOLDER --page bug=#/bugs/12 --width 390 --theme dark`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer
from playwright.sync_api import sync_playwright

PAGES = ("overview=#/", "bugs=#/bugs", "apis=#/apis", "builds=#/builds")


def screens(
    site: Annotated[Path, typer.Argument(help="Folder of the dashboard")],
    folder: Annotated[Path, typer.Argument(help="Folder for the pictures")],
    page: Annotated[list[str], typer.Option("--page", help="Page to draw: NAME=ADDRESS")] = list(PAGES),  # noqa: B006
    width: Annotated[list[int], typer.Option("--width", help="Width of the window in pixels")] = [1280],  # noqa: B006
    theme: Annotated[list[str], typer.Option("--theme", help="Colours: light or dark")] = ["light"],  # noqa: B006
) -> None:
    """Open each page in Chromium at each width and theme, and write NAME-WIDTH-THEME.png."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        # Root may not use the sandbox of Chromium.
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for colours in theme:
            for pixels in width:
                context = browser.new_context(
                    viewport={"width": pixels, "height": 860},
                    color_scheme="dark" if colours == "dark" else "light",
                )
                window = context.new_page()
                for name, _, address in (each.partition("=") for each in page):
                    window.goto("about:blank")
                    window.goto(f"{(site / 'index.html').resolve().as_uri()}{address}")
                    window.wait_for_selector("html[data-ready]")
                    # Charts draw in the frame after their box has a width.
                    window.evaluate("new Promise(done => setTimeout(done, 500))")
                    window.screenshot(path=folder / f"{name}-{pixels}-{colours}.png")
                context.close()
        browser.close()


if __name__ == "__main__":
    typer.run(screens)
