"""What the text of a notebook quotes: (name of a fact, format) in the order of the text."""

from __future__ import annotations

import json
import re
from pathlib import Path

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def quoted(name: str) -> list[tuple[str, str]]:
    cells = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return re.findall(r"\{glue:text\}`(\w+)(?::([^`]+))?`", text)
