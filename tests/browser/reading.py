"""What readers see: formulas, tables, captions, letters in figures, the interactive figure."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np
from explorable import check_explorable

from replication.figures import KEPT, contrast

HERE = Path(__file__).parent
READING, SIZES = ((HERE / f"{name}.js").read_text() for name in ("reading", "figure_sizes"))
OPEN = "document.querySelectorAll('article details').forEach((box) => { box.open = true; })"
LOADED = """(async () => {
  const images = [...document.querySelectorAll("article img")];
  images.forEach((image) => { image.loading = "eager"; });
  await new Promise((done) => setTimeout(done, 100));
  const shown = images.filter((image) => image.getClientRects().length);
  const late = new Promise((done) => setTimeout(done, 5000));
  await Promise.race([late, Promise.all(shown.map((image) => image.decode().catch(() => false)))]);
})()"""
"""After a change of width or theme the browser takes other drawings: wait for all of them."""
DESK, WIDE_DESK, PHONE = (1000, 900), (1280, 900), (390, 844)
"""From 1200 px on the contents stand beside the page, which makes its column narrower again."""
SMALLEST_LETTER = 9.0
"""CSS px that a letter in a figure needs on a phone."""
GLYPHS = re.compile(r"scale\(([\d.]+) -[\d.]+\)")
"""Matplotlib draws text as outlines of size 100, scaled to the size in points."""
LETTERS = re.compile(r'<g(?: style="fill: (#[0-9a-f]{6})[^"]*")? transform="[^"]*scale\([\d.]+ -')
ROOT_FILL = re.compile(r'<svg\b[^>]*\bfill="(#[0-9a-f]{6})"')
LEAST_CONTRAST = 4.5

Problem = tuple[str, str]


def letter_size(svg: str, shown_width: float) -> float | None:
    """Height in CSS px of the smallest letters of a figure shown so wide; None without letters."""
    sizes = [100.0 * float(scale) for scale in GLYPHS.findall(svg)]
    box = re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) ', svg)
    return min(sizes) * shown_width / float(box[1]) if sizes and box else None


def faintest(svg: str, page: list[float]) -> float | None:
    """Contrast of the faintest letters of a figure with the page; those on a cell do not count."""
    root = ROOT_FILL.search(svg)
    plain = root[1] if root else "#000000"
    colours = {found or plain for found in LETTERS.findall(svg)} - set(KEPT)
    values = [[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in colours]
    return min((contrast(np.array(value), np.array(page)) for value in values), default=None)


async def check_figures(page: Any, *, phone: bool) -> list[Problem]:
    """Letters of the figures: large enough on a phone, dark or light enough for the theme."""
    problems: list[Problem] = []
    await page.evaluate(LOADED)
    for address, width, behind, filtered in await page.evaluate(SIZES):
        path = Path(unquote(urlparse(address).path))
        text = path.read_text(encoding="utf-8")
        size, least = letter_size(text, width), faintest(text, behind)
        if phone and size is not None and size < SMALLEST_LETTER:
            problems.append(("small letters on a phone", f"{size:.1f} px in {path.name[:12]}"))
        if least is not None and least < LEAST_CONTRAST:
            problems.append(("faint letters in a figure", f"contrast {least:.1f} in {path.name}"))
        if filtered != "none":
            problems.append(("figure inverted", f"{filtered}: {path.name}"))
    return problems


async def check_reading(page: Any) -> list[Problem]:
    """Problems of the page that is open, on a desk in both themes and on a phone."""
    problems: list[Problem] = []
    await page.resize(*DESK)
    await page.evaluate(OPEN)
    for theme in ("dark", "light"):
        await page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        await asyncio.sleep(0.05)
        problems += [tuple(found) for found in await page.evaluate(READING)]
        problems += await check_figures(page, phone=False)
    for size in (WIDE_DESK, PHONE):
        await page.resize(*size)
        await asyncio.sleep(0.1)
        problems += [tuple(found) for found in await page.evaluate(READING)]
    problems += await check_figures(page, phone=True)
    problems += await check_explorable(page)
    await page.resize(*PHONE)
    return problems
