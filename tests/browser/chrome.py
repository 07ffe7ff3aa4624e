"""A small client of the Chrome DevTools protocol.

Only what the book check needs: start a headless Chromium, open pages, call protocol methods, record
events. It speaks over tornado's websocket, which Jupyter already brings, so driving a browser adds
no dependency and no driver binary that has to match the browser's version.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

from tornado.websocket import WebSocketClientConnection, websocket_connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)


def find_chromium() -> str:
    """Path of the browser: CHROMIUM if set, else the first known name on PATH."""
    chosen = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if chosen is None:
        raise SystemExit("No Chromium found: install the package 'chromium', or set CHROMIUM.")
    return chosen


class Browser:
    """Headless Chromium with a fresh profile, as an asynchronous context manager."""

    async def __aenter__(self) -> Self:
        self._profile = tempfile.mkdtemp(prefix="book-check-")
        self._process = subprocess.Popen(
            [find_chromium(), *FLAGS, f"--user-data-dir={self._profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}
        self._last_id = 0
        self._socket = await self._connect()
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._reader.cancel()
        self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    async def _connect(self) -> WebSocketClientConnection:
        port_file = Path(self._profile) / "DevToolsActivePort"
        for _ in range(300):
            if self._process.poll() is not None:
                raise RuntimeError(f"Chromium ended with code {self._process.returncode}")
            lines = port_file.read_text().split() if port_file.exists() else []
            if len(lines) == 2:
                address = f"ws://127.0.0.1:{lines[0]}{lines[1]}"
                return await websocket_connect(address, max_message_size=256 * 2**20)
            await asyncio.sleep(0.1)
        raise TimeoutError("Chromium did not open its debugging port within 30 s")

    async def _read(self) -> None:
        while (message := await self._socket.read_message()) is not None:
            data = json.loads(message)
            if "id" in data:
                self._waiting.pop(data["id"]).set_result(data)
            elif page := self._pages.get(data.get("sessionId", "")):
                page.events.append((data["method"], data["params"]))

    async def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Call one protocol method and return its result; a protocol error is an exception."""
        self._last_id += 1
        message: dict[str, Any] = {"id": self._last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self._waiting[self._last_id] = asyncio.get_running_loop().create_future()
        future = self._waiting[self._last_id]
        await self._socket.write_message(json.dumps(message))
        answer = await asyncio.wait_for(future, timeout=60)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    async def open_page(self) -> Page:
        """A new tab that records network, console and exception events."""
        target = await self.call("Target.createTarget", url="about:blank")
        attached = await self.call(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        page = Page(self, attached["sessionId"])
        self._pages[page.session] = page
        for domain in ("Page", "Runtime", "Network", "Log"):
            await page.call(f"{domain}.enable")
        return page


class Page:
    """One tab. ``events`` holds (method, params) of everything since the last visit."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.browser = browser
        self.session = session
        self.events: list[tuple[str, dict[str, Any]]] = []

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        return await self.browser.call(method, session=self.session, **params)

    async def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression; promises are awaited."""
        result = await self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression[:80]}: {result['exceptionDetails']}")
        return result["result"].get("value")

    async def visit(self, url: str, settle: float = 0.15) -> None:
        """Go to a page, wait for its load event and for MathJax to finish."""
        self.events.clear()
        await self.call("Page.navigate", url=url)
        for _ in range(600):
            if any(method == "Page.loadEventFired" for method, _ in self.events):
                break
            await asyncio.sleep(0.05)
        else:
            raise TimeoutError(f"{url} did not load within 30 s")
        await self.evaluate("window.MathJax?.startup?.promise?.then(() => true)")
        await asyncio.sleep(settle)

    async def resize(self, width: int, height: int) -> None:
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    async def press(self, key: str) -> None:
        """One real key press on the focused element."""
        for kind in ("keyDown", "keyUp"):
            await self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode={"ArrowLeft": 37, "ArrowRight": 39}.get(key, 0),
            )
        await asyncio.sleep(0.05)

    async def screenshot(self, path: Path) -> None:
        """The whole page as a PNG (its first 16 000 pixels); the viewport keeps that height."""
        import base64

        # A viewport as tall as the page: capturing beyond the viewport may shift it sideways.
        size = (await self.call("Page.getLayoutMetrics"))["cssContentSize"]
        await self.resize(size["width"], min(size["height"], 16_000))
        await asyncio.sleep(0.2)
        shot = await self.call("Page.captureScreenshot", format="png")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))
