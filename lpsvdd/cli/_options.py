"""Options that describe a table, shared by ``lpsvdd fit`` and ``lpsvdd tune``."""

from __future__ import annotations

from typing import Annotated

import typer

from lpsvdd.cli._rows import Missing

TABLE, MODEL, FILES = "The table", "The model", "Files"

Columns = Annotated[
    str | None,
    typer.Option(metavar="A,B,C", help="Use these columns only.", rich_help_panel=TABLE),
]
Drop = Annotated[
    str | None,
    typer.Option(metavar="A,B,C", help="Use all but these columns.", rich_help_panel=TABLE),
]
Categorical = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Columns of categories: an indicator (0 or 1) for each value.",
        rich_help_panel=TABLE,
    ),
]
Holes = Annotated[
    Missing,
    typer.Option(
        help="A missing value is an error, is filled with the mean or median of the targets "
        "(an empty category is one of its own), or its row is dropped.",
        rich_help_panel=TABLE,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help="Separator, if not as detected.", rich_help_panel=TABLE),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help="Decimal sign, if not as detected.", rich_help_panel=TABLE),
]
SampleSize = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=2,
        help="Fit to N rows drawn at random, for files larger than the memory.",
        rich_help_panel=TABLE,
    ),
]
Standardise = Annotated[
    bool,
    typer.Option(
        help="Mean 0 and standard deviation 1 of each column over the targets.",
        rich_help_panel=MODEL,
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--force", help="Replace files that exist.", rich_help_panel=FILES)
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No report, no progress.", rich_help_panel=FILES)
]
