"""Figures that read well at every width: one drawing for a desk, one for a phone.

``show(draw)`` draws twice, ``draw(narrow=False)`` and ``draw(narrow=True)``, and shows one SVG that
carries the narrow one in a comment. While the book is built, ``book/_ext/two_widths.py`` takes it
out again and lets the browser choose. ``panels`` lays panels side by side or, narrow, in a column.
"""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE, NARROW = 7.2, 3.6
"""Inches: the book's column, and a phone's at the size of letters that can be read."""
MARK = "narrow-variant:"


def panels(
    count: int, *, narrow: bool, height: float = 3.0, **options: Any
) -> tuple[Figure, np.ndarray]:
    """A figure of ``count`` panels, each ``height`` inches high: a row, or narrow a column."""
    import matplotlib.pyplot as plt

    shape = (count, 1) if narrow else (1, count)
    size = (NARROW, height * count) if narrow else (WIDE, height)
    figure, axes = plt.subplots(*shape, figsize=size, layout="constrained", **options)
    return figure, np.atleast_1d(axes)


def svg(figure: Figure) -> bytes:
    """A figure as SVG text; it is closed."""
    import matplotlib.pyplot as plt

    buffer = BytesIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    plt.close(figure)
    return buffer.getvalue()


def both_widths(draw: Callable[..., Figure]) -> str:
    """The wide drawing as SVG with the narrow one in a comment at its end."""
    wide = svg(draw(narrow=False)).decode()
    narrow = b64encode(svg(draw(narrow=True))).decode()
    return f"{wide.rstrip()}\n<!--{MARK}{narrow}-->\n"


def show(draw: Callable[..., Figure]) -> None:
    """Show a figure in a notebook, at both widths."""
    from IPython.display import display

    # As raw data: IPython's SVG class would keep the root element alone and drop the comment.
    display({"image/svg+xml": both_widths(draw)}, raw=True)


def picture_html(draw: Callable[..., Figure], *, name: str, alt: str) -> str:
    """Both drawings inside one HTML element, for a page other than the notebook's own."""
    wide, narrow = (b64encode(svg(draw(narrow=value))).decode() for value in (False, True))
    kind = "data:image/svg+xml;base64,"
    return (
        f'<figure id="{name}"><picture>'
        f'<source media="(max-width: 600px)" srcset="{kind}{narrow}">'
        f'<img alt="{html.escape(alt)}" src="{kind}{wide}"></picture></figure>'
    )
