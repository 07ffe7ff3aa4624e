"""Headless Chromium for the check of the book: Playwright drives the browser that is installed."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from playwright.async_api import ConsoleMessage, Request, async_playwright
from playwright.async_api import Page as Tab

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LOCAL_SCHEMES = ("file", "data", "blob", "about", "devtools", "chrome")


@asynccontextmanager
async def open_pages(count: int) -> AsyncIterator[list[Page]]:
    """Tabs of a fresh browser, each in its own window: none waits in the background."""
    browser = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        raise SystemExit("No Chromium found: install the package 'chromium', or set CHROMIUM.")
    async with async_playwright() as play:
        window = await play.chromium.launch(executable_path=browser)
        tabs = [await window.new_page() for _ in range(count)]
        for tab in tabs:  # every page is weighed with all its files
            session = await tab.context.new_cdp_session(tab)
            await session.send("Network.setCacheDisabled", {"cacheDisabled": True})
        yield [Page(tab) for tab in tabs]
        await window.close()


class Page:
    """One tab. Since the last visit: ``problems`` are (kind, detail), ``loaded`` files read."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        self.problems: list[tuple[str, str]] = []
        self.loaded: set[str] = set()
        tab.on("pageerror", lambda error: self._note("exception", str(error).splitlines()[0]))
        tab.on("console", self._console)
        tab.on("request", self._request)
        tab.on("requestfailed", self._failed)

    def _note(self, kind: str, detail: str) -> None:
        self.problems.append((kind, detail))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._note("console error", f"{message.text} {message.location.get('url', '')}".strip())

    def _request(self, request: Request) -> None:
        address = urlparse(request.url)
        if address.scheme not in LOCAL_SCHEMES:
            self._note("external request", request.url)
        if request.is_navigation_request():
            self.loaded.clear()  # what the page before still asked for is not this one's
        if address.scheme == "file":
            self.loaded.add(unquote(address.path))

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the page was left before it had loaded
            self._note("failed request", f"{request.url}: {request.failure}")

    async def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression; promises are awaited."""
        return await self.tab.evaluate(expression)

    async def visit(self, url: str) -> None:
        """Go to a page, wait for its load event and for MathJax to finish."""
        self.problems.clear()
        await self.tab.goto(url, timeout=120_000)  # a loaded machine is slow, not wrong
        await self.evaluate("window.MathJax?.startup?.promise?.then(() => true)")
        await asyncio.sleep(0.15)

    async def resize(self, width: int, height: int) -> None:
        await self.tab.set_viewport_size({"width": width, "height": height})

    async def press(self, key: str) -> None:
        """One real key press on the focused element."""
        await self.tab.keyboard.press(key)
        await asyncio.sleep(0.05)

    async def screenshot(self, path: Path) -> None:
        """The whole page as a PNG (its first 16 000 pixels); the viewport keeps that height."""
        # A viewport as tall as the page: capturing beyond the viewport may shift it sideways.
        height = await self.evaluate("document.documentElement.scrollHeight")
        await self.resize(self.tab.viewport_size["width"], min(height, 16_000))
        await asyncio.sleep(0.2)
        await self.tab.screenshot(path=path)
