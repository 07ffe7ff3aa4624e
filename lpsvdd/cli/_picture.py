"""The picture of ``--plot``: scores with the threshold, and the rows in two components."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lpsvdd._atomic import whole_file

if TYPE_CHECKING:
    from lpsvdd.cli._rows import Rows

FORMATS = ("png", "svg", "pdf")


def check_picture(path: str | None) -> None:
    """Raise ValueError unless the name tells a format and matplotlib is there."""
    if path is None:
        return
    if Path(path).suffix.lstrip(".").lower() not in FORMATS:
        raise ValueError(f"--plot {path}: the name must end in {', '.join(FORMATS)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ValueError(
            "--plot needs matplotlib: install it, or lpsvdd with its extra plots"
        ) from None


def draw(
    path: str, model: Any, rows: Rows, scored: dict[str, np.ndarray], *, seen: int, force: bool
) -> None:
    """Draw the rows, of ``seen`` ones altogether, into a file."""
    from matplotlib.figure import Figure

    from lpsvdd.cli._model import prepared
    from lpsvdd.plots import score_histogram, style, two_components

    score = np.asarray(scored["score"], dtype=float)
    decision = np.asarray(scored["decision"], dtype=float)
    known = np.isfinite(score)
    points = prepared(model, rows.take(known).frame)
    last = model[-1] if hasattr(model, "steps") else model
    with style():
        figure = Figure(figsize=(9.6, 4.0), layout="constrained")
        left, right = figure.subplots(1, 2)
        # decision = score - threshold, for every row
        threshold = float(np.median(score[known] - decision[known])) if known.any() else None
        score_histogram(score[known], threshold, ax=left)
        basis = getattr(last, "X_fit_", None)
        two_components(points, decision[known] >= 0.0, basis=basis, ax=right)
        more = f" (drawn at random from {seen:,})" if seen > len(rows) else ""
        figure.suptitle(f"{rows.table}: {known.sum():,} rows{more}", x=0.01, ha="left")
        with whole_file(path, overwrite=force) as handle:
            kind = Path(path).suffix.lstrip(".").lower()
            figure.savefig(handle, format=kind, dpi=150, facecolor="white", transparent=False)
