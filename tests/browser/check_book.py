"""Open every page of the rendered book in headless Chromium and report what is wrong with it.

    python tests/browser/check_book.py _build/html [--screenshots FOLDER] [--only PAGE ...]

A page fails on: a console error or exception, a failed request, a request that leaves the book, TeX
that was not rendered, a warning or traceback in the output of a cell, an image that did not load or
has no alternative text, a link to a file or anchor that does not exist, sideways overflow on a 390
px screen, more than 2.5 MB in all files of a page; and on what only a reader sees (``reading``): a
macro unknown to MathJax, a formula (a displayed one on a desk, one in a line of text on a phone
too) or table wider than its column, a line of code cut off on a desk, a sentence as only a template
writes it ("on 1 data sets"), faint text or hairline captions in either theme, letters of a figure
that are faint in either theme or under 9 px on a phone, a figure that the theme inverts, an
interactive figure whose answers, counts, keys or touch fail. The book fails when a slider does not
move its figure, when the theme cannot be switched, or when the search does not find "duality gap".
All of it on file:// addresses, the strictest case.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

import explorable
from chrome import Page, open_pages
from reading import check_reading

HERE = Path(__file__).parent
PAGE_CHECK = (HERE / "page.js").read_text()
OVERFLOW_CHECK = (HERE / "overflow.js").read_text()
PHONE, DESKTOP = (390, 844), (1280, 900)
HEAVIEST = 2_500_000
"""Bytes of a page with all that it loads."""
TABS = min(4, max(2, os.cpu_count() or 1))
"""Pages that are open at the same time, each in a window of its own."""


class Anchors(HTMLParser):
    """The ids a page defines and the addresses its links point at."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.update(filter(None, (values.get("id"), values.get("name"))))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])


def book_pages(root: Path) -> list[Path]:
    """Every page of the book; static files and the redirect at the root are not pages."""
    return [
        path
        for path in sorted(root.rglob("*.html"))
        if "_static" not in path.parts and 'http-equiv="Refresh"' not in path.read_text("utf-8")
    ]


def broken_links(path: Path, anchors: dict[Path, Anchors]) -> Iterator[str]:
    """Internal links whose file or anchor does not exist."""
    for link in anchors[path].links:
        address, fragment = urldefrag(link)
        if re.fullmatch(r"https?://[^/]+\.(?:md|py|js|csv|html)/?", address):
            yield link  # a file name that was taken for an address
        if urlparse(address).scheme:
            continue
        name = unquote(address.split("?")[0])
        target = (path.parent / name).resolve() if name else path
        if not target.is_file():
            yield link
        elif fragment and target.suffix == ".html":
            if target not in anchors:  # each page is parsed once
                anchors[target] = Anchors(target)
            if unquote(fragment) not in anchors[target].ids:
                yield link


async def check_sliders(page: Page) -> list[tuple[str, str]]:
    """Every slider of a figure reacts to the arrow keys by changing what is drawn."""
    problems = []
    count = await page.evaluate("document.querySelectorAll('article input[type=range]').length")
    for index in range(count):
        slider = f"document.querySelectorAll('article input[type=range]')[{index}]"
        drawing = f"{slider}.closest('figure, .widget').querySelector('svg').innerHTML"
        if not await page.evaluate(f"{slider}.getClientRects().length"):
            continue  # of another step of the explorable, which has its own check
        before = await page.evaluate(f"{slider}.focus(), {drawing}")
        await page.press("ArrowRight")
        if before == await page.evaluate(drawing):
            await page.press("ArrowLeft")
            if before == await page.evaluate(drawing):
                name = await page.evaluate(f"{slider}.outerHTML")
                problems.append(("slider does not move the figure", name))
    return problems


def check_weight(page: Page) -> list[tuple[str, str]]:
    """The page and all that it has loaded together are light."""
    weights = page.weights()
    total = sum(weights.values())
    if total <= HEAVIEST:
        return []
    most = sorted(weights.items(), key=lambda pair: -pair[1])[:4]
    names = ", ".join(f"{Path(name).name} {size / 1000:.0f} kB" for name, size in most)
    return [("page too heavy", f"{total / 1000:.0f} kB: {names}")]


async def check_landing(page: Page, path: Path) -> list[tuple[str, str]]:
    """A link to the last section of a long page leads there on a phone, or to the page's end."""
    sections = re.findall(r'<section id="([^"]+)"', path.read_text(encoding="utf-8"))
    if len(sections) < 4:
        return []
    await page.resize(*PHONE)
    await page.visit(f"{path.as_uri()}#{sections[-1]}", settle=0.5)
    top, at_end = await page.evaluate(
        f"[document.getElementById('{sections[-1]}').getBoundingClientRect().top,"
        " innerHeight + scrollY > document.documentElement.scrollHeight - 3]"
    )
    good = -5 < top < (PHONE[1] if at_end else 150)
    return [] if good else [("link misses its target", f"#{sections[-1]} by {top:.0f} px")]


async def check_page(page: Page, path: Path, anchors: dict[Path, Anchors]) -> list[tuple[str, str]]:
    """All problems of one page."""
    problems = await check_landing(page, path)
    await page.resize(*DESKTOP)
    await page.visit(path.as_uri())
    problems += [tuple(problem) for problem in await page.evaluate(PAGE_CHECK)]
    problems += check_weight(page)
    problems += [("broken link", link) for link in broken_links(path, anchors)]
    problems += await check_sliders(page)
    problems += await check_reading(page)  # leaves the page at the width of a phone
    problems += [("overflow at 390 px", item) for item in await page.evaluate(OVERFLOW_CHECK)]
    return list(dict.fromkeys([*problems, *page.problems]))


async def check_search(page: Page, root: Path, phrase: str) -> list[tuple[str, str]]:
    """The search page lists at least one hit for the phrase."""
    await page.resize(*DESKTOP)
    await page.visit((root / "search.html").as_uri() + "?q=" + phrase.replace(" ", "+"))
    for _ in range(60):
        hits = await page.evaluate("document.querySelectorAll('#search-results li a').length")
        if hits:
            return page.problems
        await asyncio.sleep(0.1)
    return [("search", f"no hit for “{phrase}”")]


async def check_theme(page: Page, path: Path) -> list[tuple[str, str]]:
    """The theme button reaches both a light and a dark page."""
    await page.visit(path.as_uri())
    colours = set()
    for _ in range(3):
        colours.add(await page.evaluate("getComputedStyle(document.body).backgroundColor"))
        await page.evaluate("document.querySelector('.theme-switch-button').click()")
        await asyncio.sleep(0.4)
    return [] if len(colours) > 1 else [("theme", "the theme button changes nothing")]


async def take_screenshots(page: Page, path: Path, root: Path, folder: Path) -> None:
    """The page on a desktop and on a phone, light and dark."""
    name = "-".join(path.relative_to(root).with_suffix("").parts)
    for kind, size, theme in (
        ("desktop", DESKTOP, "light"),
        ("dark", DESKTOP, "dark"),
        ("phone", PHONE, "light"),
        ("phone-dark", PHONE, "dark"),
    ):
        await page.resize(*size)
        await page.visit(path.as_uri())
        await page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        await asyncio.sleep(0.3)
        await page.screenshot(folder / f"{name}.{kind}.png")


async def check_book(root: Path, screenshots: Path | None, only: list[str]) -> int:
    """Check all pages, print one line for each, return the number of problems."""
    pages = [path for path in book_pages(root) if not only or path.stem in only]
    if len(pages) < len(only):
        raise SystemExit(f"not all of these are pages of the book: {', '.join(only)}")
    anchors = {path.resolve(): Anchors(path) for path in pages}
    total = 0

    def show(name: str, problems: list[tuple[str, str]], seconds: float) -> None:
        nonlocal total
        total += len(problems)
        print(f"{'FAIL' if problems else 'ok':4} {seconds:5.1f} s  {name}", flush=True)
        for kind, detail in problems:
            print(f"       {kind}: {detail}")

    async def work(page: Page) -> None:
        """Take the next page until none is left."""
        while waiting:
            path = waiting.pop(0)
            start = time.perf_counter()
            problems = await check_page(page, path.resolve(), anchors)
            if screenshots:
                await take_screenshots(page, path.resolve(), root.resolve(), screenshots)
            show(str(path.relative_to(root)), problems, time.perf_counter() - start)

    waiting = sorted(pages, key=lambda path: -path.stat().st_size)  # the long ones first
    async with open_pages(min(TABS, len(pages))) as tabs:
        await asyncio.gather(*map(work, tabs))
        for name, check in (
            ("search finds “duality gap”", check_search(tabs[0], root.resolve(), "duality gap")),
            ("light and dark theme", check_theme(tabs[0], (root / "intro.html").resolve())),
        ):
            start = time.perf_counter()
            show(name, await check, time.perf_counter() - start)
    print(f"{len(pages)} pages, {total} problems")
    return total


FAULTY = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>t</title></head><body><article>
<img src="missing.png" alt="x"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
<p>left over \\frac{1}{2}</p><a href="nowhere.html">a</a><a href="#nothing">b</a><a href="http://A.md">c</a>
<p style="width:600px">wide</p>
<figure><svg><path d="M0 0"/></svg><input type="range" min="0" max="3" aria-label="dead"></figure>
<div class="cell_output">/tmp/ipykernel_1/2.py:3: UserWarning: planted</div>
<div class="cell_output">&lt;IPython.core.display.Markdown object&gt;</div>
<script>console.error("planted"); undefinedFunction();</script>
<img src="http://127.0.0.1:9/away.png" alt="away">
<mjx-container><svg><g fill="red"><text>\\normm</text></g></svg></mjx-container>
<mjx-container display="true" style="display:block;width:9em;overflow:auto">
<svg width="900" height="9"></svg></mjx-container>
<div style="width:9em"><table style="display:block;overflow-x:auto;max-width:100%">
<tr><td style="min-width:60em">1</td></tr></table></div>
<figure><figcaption style="font-weight:300;color:#aaa">thin and faint</figcaption></figure>
<p style="overflow:hidden">
<mjx-container style="display:inline-block;width:700px">x</mjx-container></p>
<p style="color:#999" tabindex="3">grey on white</p>
<img src="tiny.svg" alt="tiny letters" style="width:300px;filter:invert(1)">
<p>above on 1 data sets</p>
<pre style="width:9em;overflow:auto">a_line = "that is far too long for its box"</pre>
<script src="heavy.js"></script></article></body></html>"""
TINY_LETTERS = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 9">'
    '<g style="fill: #dddddd" transform="scale(0.07 -0.07)"/></svg>'
)
EXPECTED = {
    "image not loaded",
    "image without alt text",
    "raw TeX",
    "warning in output",
    "object without a text",
    "broken link",
    "overflow at 390 px",
    "slider does not move the figure",
    "console error",
    "exception",
    "external request",
    "failed request",
    "unknown TeX macro",
    "clipped equation",
    "clipped inline formula",
    "table wider than its column",
    "faint caption",
    "hairline caption",
    "small letters on a phone",
    "faint text",
    "tab order changed",
    "code line cut off",
    "template sentence",
    "page too heavy",
    "faint letters in a figure",
    "figure inverted",
}


async def self_test() -> int:
    """A page with one fault of each kind must be reported for each of them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "faulty.html"
        path.write_text(FAULTY, encoding="utf-8")
        (path.parent / "tiny.svg").write_text(TINY_LETTERS, encoding="utf-8")
        (path.parent / "heavy.js").write_text(f"/*{HEAVIEST * 'x'}*/", encoding="utf-8")
        async with open_pages(1) as (page,):
            found = {kind for kind, _ in await check_page(page, path, {path: Anchors(path)})}
            missed = await explorable.self_test(page)
    for kind in sorted(EXPECTED - found):
        print(f"self-test: the check did not notice a planted fault of kind “{kind}”")
    print(f"self-test: {len(EXPECTED & found)} of {len(EXPECTED)} planted faults noticed")
    for kind in missed:
        print(f"self-test of the explorable: {kind}")
    return len(EXPECTED - found) + len(missed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, help="folder of the rendered book")
    parser.add_argument("--screenshots", type=Path, help="write PNGs of every page here")
    parser.add_argument("--only", nargs="+", default=[], help="pages, such as solver")
    parser.add_argument("--self-test", action="store_true", help="first check the check itself")
    options = parser.parse_args()
    problems = asyncio.run(self_test()) if options.self_test else 0
    problems += asyncio.run(check_book(options.root, options.screenshots, options.only))
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main())
