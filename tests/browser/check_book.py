"""Open every page of the rendered book in headless Chromium and report what is wrong with it.

    python tests/browser/check_book.py _build/html [--screenshots FOLDER] [--only PAGE ...]

A page fails on: a console error or exception, a failed request, a request that leaves the book, a
link to a file or anchor that does not exist, more than 2.5 MB in all its files; on what ``page.js``
finds at three widths and in both themes; and on letters of a figure that are faint in either theme
or under 9 px on a phone, or a figure that the theme inverts. The interactive figure has its own
check (``explorable``). The book fails when the theme cannot be switched, or when the search does
not find "duality gap". All of it on file:// addresses, the strictest case.
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
import numpy as np
from chrome import Page, open_pages
from contrast import contrast

from replication.figures import ON_CELL

HERE = Path(__file__).parent
PAGE_CHECK = (HERE / "page.js").read_text(encoding="utf-8")
DESK, WIDE_DESK, PHONE = (1000, 900), (1280, 900), (390, 844)
"""From 1200 px on the contents stand beside the page, which makes its column narrower again."""
HEAVIEST = 2_500_000
"""Bytes of a page with all that it loads."""
SMALLEST_LETTER, LEAST_CONTRAST = 9.0, 4.5
"""CSS px that a letter in a figure needs on a phone, and its contrast with the page."""
TABS = min(4, max(2, os.cpu_count() or 1))
"""Pages that are open at the same time, each in a window of its own."""
UNFOLD = "document.querySelectorAll('article details').forEach((box) => { box.open = true; })"
LOADED = """(async () => {
  const images = [...document.querySelectorAll("article img")];
  images.forEach((image) => { image.loading = "eager"; });
  await new Promise((done) => setTimeout(done, 100));
  const shown = images.filter((image) => image.getClientRects().length);
  const late = new Promise((done) => setTimeout(done, 5000));
  await Promise.race([late, Promise.all(shown.map((image) => image.decode().catch(() => false)))]);
})()"""
"""After a change of width or theme the browser takes other drawings: wait for all of them."""
GLYPHS = re.compile(r"scale\(([\d.]+) -[\d.]+\)")
"""Matplotlib draws text as outlines of size 100, scaled to the size in points."""
LETTERS = re.compile(r'<g(?: style="fill: (#[0-9a-f]{6})[^"]*")? transform="[^"]*scale\([\d.]+ -')

Problem = tuple[str, str]


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


def broken_links(path: Path, anchors: dict[Path, Anchors]) -> Iterator[Problem]:
    """Internal links whose file or anchor does not exist."""
    for link in anchors[path].links:
        address, fragment = urldefrag(link)
        is_file_name = re.fullmatch(r"https?://[^/]+\.(?:md|py|js|csv|html)/?", address)
        if urlparse(address).scheme and not is_file_name:
            continue
        name = unquote(address.split("?")[0])
        target = (path.parent / name).resolve() if name else path
        if target.suffix == ".html" and target.is_file() and target not in anchors:
            anchors[target] = Anchors(target)
        has_anchor = target not in anchors or unquote(fragment) in {"", *anchors[target].ids}
        if not target.is_file() or not has_anchor:
            yield "broken link", link


def check_weight(page: Page) -> Iterator[Problem]:
    """The page and all that it has loaded together are light."""
    weights = {path: path.stat().st_size for path in map(Path, page.loaded) if path.is_file()}
    if sum(weights.values()) > HEAVIEST:
        most = sorted(weights, key=weights.__getitem__)[-4:]
        yield "page too heavy", f"{sum(weights.values()) / 1000:.0f} kB: {[p.name for p in most]}"


def check_figure(address: str, width: float, behind: list, effect: str) -> Iterator[Problem]:
    """Letters of a figure shown so wide on such a page: large, and dark or light enough."""
    path = Path(unquote(urlparse(address).path))
    svg = path.read_text(encoding="utf-8")
    sizes, box = GLYPHS.findall(svg), re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) ', svg)
    smallest = 100 * min(map(float, sizes)) * width / float(box[1]) if sizes and box else np.inf
    if smallest < SMALLEST_LETTER and width < PHONE[0]:
        yield "small letters on a phone", f"{smallest:.1f} px in {path.name}"
    plain = re.search(r'<svg\b[^>]*\bfill="(#[0-9a-f]{6})"', svg)
    colours = {found or (plain[1] if plain else "#000000") for found in LETTERS.findall(svg)}
    for colour in colours - set(ON_CELL):
        found = contrast([int(colour[k : k + 2], 16) for k in (1, 3, 5)], behind)
        if found < LEAST_CONTRAST:
            yield "faint letters in a figure", f"contrast {found:.1f} in {path.name}"
    if effect != "none":
        yield "figure inverted", f"{effect}: {path.name}"


async def check_page(page: Page, path: Path, anchors: dict[Path, Anchors]) -> list[Problem]:
    """All problems of one page, on desks in both themes and on a phone."""
    await page.resize(*WIDE_DESK)
    await page.visit(path.as_uri())
    problems = [*check_weight(page), *broken_links(path, anchors)]
    await page.evaluate(UNFOLD)
    for size, theme in ((WIDE_DESK, "light"), (DESK, "dark"), (DESK, "light"), (PHONE, "light")):
        await page.resize(*size)
        await page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        await page.evaluate(LOADED)
        found = await page.evaluate(PAGE_CHECK)
        problems += map(tuple, found["problems"])
        problems += (one for figure in found["figures"] for one in check_figure(*figure))
    problems += await explorable.check_explorable(page)
    return list(dict.fromkeys([*problems, *page.problems]))


async def check_search(page: Page, root: Path) -> list[Problem]:
    """The search page lists at least one hit."""
    await page.resize(*WIDE_DESK)
    await page.visit((root / "search.html").as_uri() + "?q=duality+gap")
    for _ in range(60):
        if await page.evaluate("document.querySelectorAll('#search-results li a').length"):
            return page.problems
        await asyncio.sleep(0.1)
    return [("search", "no hit for “duality gap”")]


async def check_theme(page: Page, root: Path) -> list[Problem]:
    """The theme button reaches both a light and a dark page."""
    await page.visit((root / "intro.html").as_uri())
    colours = set()
    for _ in range(3):
        colours.add(await page.evaluate("getComputedStyle(document.body).backgroundColor"))
        await page.evaluate("document.querySelector('.theme-switch-button').click()")
        await asyncio.sleep(0.4)
    return [] if len(colours) > 1 else [("theme", "the theme button changes nothing")]


async def take_screenshots(page: Page, path: Path, folder: Path) -> None:
    """The page on a desk and on a phone, light and dark."""
    for kind, size in (("desk", WIDE_DESK), ("phone", PHONE)):
        for theme in ("light", "dark"):
            await page.resize(*size)
            await page.visit(path.as_uri())
            await page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            await asyncio.sleep(0.3)
            await page.screenshot(folder / f"{path.stem}.{kind}.{theme}.png")


async def check_book(root: Path, screenshots: Path | None, only: list[str]) -> int:
    """Check all pages, print one line for each, return the number of problems."""
    pages = [path for path in book_pages(root) if not only or path.stem in only]
    if len(pages) < len(only):
        raise SystemExit(f"not all of these are pages of the book: {', '.join(only)}")
    anchors = {path: Anchors(path) for path in pages}
    total = 0

    def show(name: str, problems: list[Problem], start: float) -> None:
        nonlocal total
        total += len(problems)
        seconds = time.perf_counter() - start
        print(f"{'FAIL' if problems else 'ok':4} {seconds:5.1f} s  {name}", flush=True)
        for kind, detail in problems:
            print(f"       {kind}: {detail}")

    async def work(page: Page) -> None:
        """Take the next page until none is left."""
        while waiting:
            path, start = waiting.pop(0), time.perf_counter()
            show(str(path.relative_to(root)), await check_page(page, path, anchors), start)
            if screenshots:
                await take_screenshots(page, path, screenshots)

    waiting = sorted(pages, key=lambda path: -path.stat().st_size)  # the long ones first
    async with open_pages(min(TABS, len(pages))) as tabs:
        await asyncio.gather(*map(work, tabs))
        for check in (check_search, check_theme):
            start = time.perf_counter()
            show(check.__doc__, await check(tabs[0], root), start)
    print(f"{len(pages)} pages, {total} problems")
    return total


TINY_LETTERS = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 9">'
    '<g style="fill: #dddddd" transform="scale(0.07 -0.07)"/></svg>'
)
EXPECTED = {
    "image not loaded", "image without alt text", "raw TeX", "formula error", "broken link",
    "traceback, warning or object in an output", "overflow on a phone", "console error",
    "exception", "external request", "failed request", "mjx-container wider than its column",
    "table wider than its column", "pre wider than its column", "clipped inline formula",
    "small letters on a phone", "faint letters in a figure", "figure inverted", "faint text",
    "control without label", "tab order changed", "template sentence", "page too heavy",
}  # fmt: skip


async def self_test() -> int:
    """A page with one fault of each kind must be reported for each of them."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        path = folder / "faulty.html"
        path.write_text((HERE / path.name).read_text(encoding="utf-8"), encoding="utf-8")
        (folder / "tiny.svg").write_text(TINY_LETTERS, encoding="utf-8")
        (folder / "heavy.js").write_text(f"/*{HEAVIEST * 'x'}*/", encoding="utf-8")
        async with open_pages(1) as (page,):
            found = dict(await check_page(page, path, {path: Anchors(path)}))
            missed = [*sorted(EXPECTED - set(found)), *await explorable.self_test(page, folder)]
    planted = len(EXPECTED) + len(explorable.FAULTS)
    print(f"self-test: {planted - len(missed)} of {planted} planted faults noticed", *missed)
    return len(missed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, help="folder of the rendered book")
    parser.add_argument("--screenshots", type=Path, help="write PNGs of every page here")
    parser.add_argument("--only", nargs="+", default=[], help="pages, such as solver")
    parser.add_argument("--self-test", action="store_true", help="first check the check itself")
    asked = parser.parse_args()
    problems = asyncio.run(self_test()) if asked.self_test else 0
    problems += asyncio.run(check_book(asked.root.resolve(), asked.screenshots, asked.only))
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main())
