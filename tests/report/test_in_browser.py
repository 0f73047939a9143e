"""The report in headless Chromium: desktop, phone, dark and paper, with axe-core looking for barriers.

FAIRLAP_PICTURES names a folder for the pictures of the documentation (`make pictures`).
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from tests.unit.comparison_report.synthetic import cases

from fairlap.comparison_report.archive import read_archive
from fairlap.comparison_report.html_report import report_html

HERE = Path(__file__).parent
AXE = HERE / "node_modules" / "axe-core" / "axe.min.js"
MADE = cases()
EACH_RUN = {"demo", "sixty-tasks", "long-names", "hostile", "no-twin"}
"""a real one, the largest, the widest, the oddest, and one that lacks most; the others are like one of them"""
REPORTS = [pytest.param(it, marks=() if it in EACH_RUN else pytest.mark.long) for it in ("demo", *MADE)]
DESKTOP, PHONE, PAPER = (1280, 900), (360, 740), (703, 1000)
"""px; A4 less its margins is 186 mm wide"""
PICTURES = os.environ.get("FAIRLAP_PICTURES")
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# The table of every number of every race is made like all others, and takes minutes.
AXE_RUN = "axe.run({exclude: [['.raw']]}, {resultTypes: ['violations']})"
OPEN_ALL = "document.querySelectorAll('details').forEach(each => each.open = true)"
CUT_CHARTS = """[...document.querySelectorAll('figure > svg')].filter(each => {
  const box = each.getBoundingClientRect();
  return box.width < 50 || box.left < -1 || box.right > document.documentElement.clientWidth + 1;
}).length"""
CUT_BOXES = """[...document.querySelectorAll('.scroll, pre')].filter(each =>
  each.scrollWidth > document.documentElement.clientWidth || getComputedStyle(each).overflowX !== 'visible'
).length"""
FOLDED = """[...document.querySelectorAll('details:not(.raw):not(.raw *)')].filter(each =>
  [...each.children].some(child => child.tagName !== 'SUMMARY' && child.getBoundingClientRect().height === 0)
).length"""


class Visit:
    """A page in a window, and what it said and asked for."""

    def __init__(self, browser: Browser, file: Path, size: tuple[int, int], scheme: Any = "light") -> None:
        width, height = size
        # axe-core is put in by the test; the page itself allows no script.
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, bypass_csp=True, device_scale_factor=1
        )
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        assert self.asked == [file.as_uri()] and self.said == []

    def resize(self, size: tuple[int, int]) -> None:
        """Give the window another size; without scripts the page is then as one that was loaded at that size."""
        width, height = size
        self.page.set_viewport_size({"width": width, "height": height})

    def barriers(self) -> list[str]:
        """Return what axe-core finds serious, in every part that can be opened."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate(AXE_RUN)["violations"]
        return [
            f"{each['id']} ({each['impact']}): {each['nodes'][0]['html'][:200]}"
            for each in found
            if each["impact"] in ("serious", "critical")
        ]

    def picture(self, name: str, height: int) -> None:
        """Keep the top of the page as a picture of the documentation, where that is asked for."""
        if PICTURES:
            clip: Any = {"x": 0, "y": 0, "width": self.page.viewport_size["width"], "height": height}  # type: ignore[index]
            self.page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True, clip=clip)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert program, "there is no Chromium: `make chromium` installs it, or CHROMIUM says where it is"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield found
        found.close()


class Files(dict[str, Path]):
    """The reports by name, each written when it is asked for first."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def __missing__(self, name: str) -> Path:
        if name == "demo":
            # What `make demo` wrote on localkube, beside a busy neighbour: fairlap report -f demo-report.html -o json
            comparison, blocks = read_archive(json.loads(gzip.decompress((HERE / "demo.json.gz").read_bytes())))
        else:
            comparison, blocks = MADE[name].comparison, MADE[name].blocks
        self[name] = self._folder / f"{name}.html"
        self[name].write_text(report_html(comparison, blocks), encoding="utf-8")
        return self[name]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return Files(tmp_path_factory.mktemp("reports"))


@pytest.mark.parametrize("name", REPORTS)
def test_nothing_is_asked_for_and_nothing_is_too_wide(browser: Browser, files: dict[str, Path], name: str) -> None:
    visit = Visit(browser, files[name], DESKTOP)
    for size in (DESKTOP, PHONE):
        visit.resize(size)
        assert visit.page.evaluate(OVERFLOW) == 0
    visit.page.evaluate(OPEN_ALL)
    for size in (PHONE, DESKTOP):
        visit.resize(size)
        assert visit.page.evaluate(OVERFLOW) == 0 and visit.page.evaluate(CUT_CHARTS) == 0
    assert visit.said == [] and len(visit.asked) == 1
    visit.context.close()


@pytest.mark.parametrize(
    ("name", "size", "scheme"),
    [("demo", DESKTOP, "light"), pytest.param("demo", PHONE, "light", marks=pytest.mark.long),
     pytest.param("regressed", DESKTOP, "light", marks=pytest.mark.long), ("three", DESKTOP, "dark"),
     pytest.param("not-comparable", DESKTOP, "light", marks=pytest.mark.long),
     ("hostile", PHONE, "light"), ("long-names", PHONE, "dark")],
)  # fmt: skip
def test_nobody_is_kept_from_reading_it(
    browser: Browser, files: dict[str, Path], name: str, size: tuple[int, int], scheme: str
) -> None:
    visit = Visit(browser, files[name], size, scheme)
    visit.page.evaluate(OPEN_ALL)
    assert visit.barriers() == []
    visit.context.close()


@pytest.mark.parametrize("name", ["demo", "regressed", "three", "long-names"])
def test_on_paper_everything_is_open_and_nothing_is_cut(browser: Browser, files: dict[str, Path], name: str) -> None:
    visit = Visit(browser, files[name], PAPER, "dark")
    visit.page.emulate_media(media="print")
    assert visit.page.evaluate(FOLDED) == 0
    assert visit.page.evaluate(CUT_CHARTS) == 0 and visit.page.evaluate(CUT_BOXES) == 0
    assert visit.page.evaluate(OVERFLOW) == 0
    assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert visit.page.pdf(prefer_css_page_size=True, format="A4").startswith(b"%PDF")
    visit.context.close()


def test_the_pictures_of_the_documentation(browser: Browser, files: dict[str, Path]) -> None:
    visit = Visit(browser, files["demo"], DESKTOP)
    visit.picture("report-desktop", 2300)
    visit.resize(PHONE)
    visit.picture("report-phone", 2000)
    visit.resize(PAPER)
    visit.page.emulate_media(media="print")
    visit.picture("report-print", PAPER[1])
    visit.context.close()
