"""The options of a command: those of a table, shared, and every parameter of the estimator."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from lpsvdd.cli._errors import sentences
from lpsvdd.cli._roles import Missing, Roles, names

Option = typer.Option
Data = Annotated[
    str,
    typer.Argument(
        help="CSV file with a header line, gzipped or not; - for standard input; "
        "or a data set such as wine."
    ),
]
TABLE: dict[str, Any] = {
    "label": Annotated[str | None, Option(help="Column with +1 and -1, or with classes.")],
    "target": Annotated[str | None, Option(help="Class to describe; the others are -1.")],
    "id": Annotated[str | None, Option(help="Columns A,B that name a row: passed through.")],
    "drop": Annotated[str | None, Option(help="Columns A,B not to use.")],
    "categorical": Annotated[
        str | None, Option(help="Columns A,B of categories, even of numbers.")
    ],
    "missing": Annotated[
        Missing | None,
        Option(
            help="A missing value is an error (the default), is filled with the mean or median of "
            "the targets (an empty category is one of its own), or its row is dropped."
        ),
    ],
}
Negatives = Annotated[bool, Option("--negatives", help="Train with the rows labelled -1 as well.")]
Force = Annotated[bool, Option("--force", help="Replace files that exist.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="No report, no progress.")]
Keep = Annotated[str | None, Option("--model", help="File to keep the pipeline in, for score.")]

SEARCH = {"nu": "nus", "gamma": "gammas", "folds": "cv", "seed": "random_state", "jobs": "n_jobs"}
"""Options of the search that are parameters of LpSVDDCV under another name."""


def add_command(app: typer.Typer, function: Callable[..., None]) -> None:
    """Add a command whose ``roles`` come from the options of a table; ``written`` lists files.

    Of one with a ``ctx``, words that are no options are put aside for :func:`estimator_of`.
    """
    own = dict(inspect.signature(function, eval_str=True).parameters)
    del own["roles"], own["written"]

    @wraps(function)
    def command(**given: Any) -> None:
        table: dict[str, Any] = {name: given.pop(name) for name in TABLE}
        table["ids"] = table.pop("id")
        with sentences() as written:
            lists = {name: names(table[name]) for name in ("ids", "drop", "categorical")}
            function(roles=Roles(**table | lists), written=written, **given)

    kind = inspect.Parameter.KEYWORD_ONLY
    table = {name: inspect.Parameter(name, kind, default=None, annotation=option)
             for name, option in TABLE.items()}  # fmt: skip
    required = {name for name, one in own.items() if one.default is inspect.Parameter.empty}
    ordered = [*(own[name] for name in own if name in required), *table.values(),
               *(own[name] for name in own if name not in required)]  # fmt: skip
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(kind=kind) for one in ordered]
    )
    command.__annotations__ = {one.name: one.annotation for one in ordered}
    app.command(function.__name__, cls=WithParameters if "ctx" in own else None)(command)


class WithParameters(TyperCommand):
    """A command that takes every parameter of the estimator as an option: ``--p 1.5``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put aside what is no option of the command itself, with its value."""
        own = {word for option in self.params for word in option.opts} | {"--help", "--"}
        ctx.obj, rest, words = ([], own), [], iter(args)
        for word in words:
            name, equals, value = word.partition("=")
            if not word.startswith("--") or name in own:
                rest.append(word)
            else:
                ctx.obj[0].append((name, value if equals else next(words, "")))
        return super().parse_args(ctx, rest)


def estimator_of(ctx: typer.Context, kind: type, **defaults: Any) -> Any:
    """The estimator with the parameters given as options; the search takes some repeatedly."""
    given, own = ctx.obj
    is_search = "nus" in inspect.signature(kind).parameters
    known = {name: name for name in inspect.signature(kind).parameters if name != "verbose"}
    if is_search:
        known = {name: name for name in known if name not in SEARCH.values()} | SEARCH
    values: dict[str, Any] = {}
    for option, text in given:
        name = known.get(option[2:].replace("-", "_"))
        if name is None:
            options = [*(f"--{word.replace('_', '-')}" for word in known), *own]
            close = " or ".join(get_close_matches(option, options, 1) or options[:8])
            raise ValueError(f"there is no option {option} here; did you mean {close}?")
        if text == "" or text.startswith("--"):
            raise ValueError(f"{option} needs a value")
        if is_search and name in ("p", "nus", "gammas"):
            values.setdefault(name, []).append(_value(text))
        elif name in values:
            raise ValueError(f"{option} was given twice")
        else:
            values[name] = _value(text)
    return kind(**{**defaults, **values})


def _value(text: str) -> Any:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    return None if text.lower() == "none" else text
