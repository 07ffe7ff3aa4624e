"""What readers see: formulas, tables, captions, letters in figures, the interactive figure."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from explorable import check_explorable

HERE = Path(__file__).parent
READING, SIZES = ((HERE / f"{name}.js").read_text() for name in ("reading", "figure_sizes"))
OPEN = "document.querySelectorAll('article details').forEach((box) => { box.open = true; })"
DESK, WIDE_DESK, PHONE = (1000, 900), (1280, 900), (390, 844)
"""From 1200 px on the contents stand beside the page, which makes its column narrower again."""
SMALLEST_LETTER = 9.0
"""CSS px that a letter in a figure needs on a phone."""
GLYPHS = re.compile(r"scale\(([\d.]+) -[\d.]+\)")
"""Matplotlib draws text as outlines of size 100, scaled to the size in points."""

Problem = tuple[str, str]


def letter_size(svg: str, shown_width: float) -> float | None:
    """Height in CSS px of the smallest letters of a figure shown so wide; None without letters."""
    sizes = [100.0 * float(scale) for scale in GLYPHS.findall(svg)]
    box = re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) ', svg)
    return min(sizes) * shown_width / float(box[1]) if sizes and box else None


async def check_reading(page: Any) -> list[Problem]:
    """Problems of the page that is open, on a desk in both themes and on a phone."""
    problems: list[Problem] = []
    await page.resize(*DESK)
    await page.evaluate(OPEN)
    for theme in ("dark", "light"):
        await page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        await asyncio.sleep(0.05)
        problems += [tuple(found) for found in await page.evaluate(READING)]
    for size in (WIDE_DESK, PHONE):
        await page.resize(*size)
        await asyncio.sleep(0.1)
        problems += [tuple(found) for found in await page.evaluate(READING)]
    for address, width in await page.evaluate(SIZES):
        path = Path(unquote(urlparse(address).path))
        size = letter_size(path.read_text(encoding="utf-8"), width)
        if size is not None and size < SMALLEST_LETTER:
            problems.append(("small letters on a phone", f"{size:.1f} px in {path.name[:12]}"))
    problems += await check_explorable(page)
    await page.resize(*PHONE)
    return problems
