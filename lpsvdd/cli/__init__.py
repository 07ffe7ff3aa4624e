"""Command line ``lpsvdd``: ``fit`` a table, ``score`` another.

What a command needs is imported when it runs, so that ``lpsvdd --help`` answers at once.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

import lpsvdd

FIT = "Learn from the normal rows of a table, and say how many new normal rows will be rejected."
FIT_EXAMPLES = """examples:
  lpsvdd fit train.csv --id name --model m.lpsvdd
  lpsvdd fit iris.csv --label species --target setosa --tune --nu 0.05 --model iris.lpsvdd
  lpsvdd fit export.csv --sep ';' --decimal , --missing median --drop comment"""
SCORE = """Score the rows of a table with a model; columns are found by name. High scores are
normal, and prediction is 1 for normal and -1 for unusual rows. A row that lacks a value has no
score, unless the model was fitted with --missing median."""
SCORE_EXAMPLES = """examples:
  lpsvdd score m.lpsvdd new.csv --output scores.csv
  lpsvdd score iris.lpsvdd iris.csv --explain 2
  lpsvdd score m.lpsvdd - < new.csv | head"""
TABLE = """column names, then rows: .csv, .tsv (also .gz, .zip), .xlsx (needs openpyxl) or .parquet
(needs pyarrow); - is CSV from standard input"""
OPTION_KINDS = {
    "NUMBER": float,
    "INTEGER": int,
    "NUMBER/RULE": lambda text: float(text) if re.match(r"[-+.\d]", text) else text,
    "A,B": lambda text: [name.strip() for name in text.split(",") if name.strip()],
}


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    layout: Any = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    every = f"{FIT_EXAMPLES}\n{SCORE_EXAMPLES[10:]}"
    about = "Learn from normal rows and flag unusual ones."
    parser = argparse.ArgumentParser("lpsvdd", description=about, epilog=every, **layout)
    parser.add_argument("--version", action="version", version=f"lpsvdd {lpsvdd.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="{fit,score}", required=True)
    fit = commands.add_parser("fit", help=FIT, description=FIT, epilog=FIT_EXAMPLES, **layout)
    help = "Score the rows of a table with that model."
    score = commands.add_parser(
        "score", help=help, description=SCORE, epilog=SCORE_EXAMPLES, **layout
    )

    def add(to: argparse.ArgumentParser, name: str, kind: str, default: Any, text: str) -> None:
        """Add an option and say its default, unless ``text`` does."""
        how: dict[str, Any] = {"action": "store_true"}
        if kind:
            how = {"metavar": kind, "type": OPTION_KINDS.get(kind, str), "default": default}
        if "|" in kind:
            how["choices"] = kind.split("|")
        shown = "" if "default" in text else f" (default: {'off' if not kind else default})"
        to.add_argument(f"--{name}", help=text + shown, **how)

    # fmt: off
    score.add_argument("model", metavar="MODEL", help="file that lpsvdd fit has written")
    for command, default in ((fit, "(default: none)"), (score, "(default: as in fit)")):
        command.add_argument("table", metavar="TABLE", help=TABLE)
        add(command, "label", "NAME", None, "column of labels, 1 for normal rows and -1 for "
            f"others; without it every row counts as normal {default}")
        add(command, "target", "CLASS", None,
            f"class of the normal rows, where labels are classes {default}")
        add(command, "id", "A,B", None, f"columns that name a row in the output {default}")
    add(fit, "drop", "A,B", [], "columns not to use (default: none)")
    add(fit, "missing", "error|drop|median", "error", "a missing value is an error, its row is "
        "dropped, or it is filled in: with the median, or as a category of its own")
    add(fit, "nu", "NUMBER", 0.1, "share of new normal rows to reject, in (0, 1]")
    add(fit, "p", "NUMBER", 2.0, "exponent of the slacks, at least 1")
    add(fit, "gamma", "NUMBER/RULE", None, "of the kernel exp(-gamma d^2), or the name of a rule "
        "(default: quarter-mean-distance; others are half-mean-distance, scale and auto)")
    add(fit, "tune", "", False, "choose gamma by cross-validation, without labels")
    add(fit, "trim", "NUMBER", 0.0, "with --tune: share of the rows to leave out first, those that "
        "look least normal, in [0, 0.5)")
    add(fit, "model", "FILE", None, "file to keep the model in, for score (default: none)")
    add(fit, "output", "FILE", None, "CSV file for scores of the rows; - is standard output "
        "(default: none)")
    add(score, "output", "FILE", "-", "CSV file for the scores; - is standard output")
    add(score, "explain", "INTEGER", 0, "name so many columns that lower a score most")
    for command in (fit, score):
        add(command, "sep", "TEXT", None, "what separates cells (default: comma; tabulator for "
            ".tsv)")
        add(command, "decimal", ".|,", ".", "decimal sign")
        add(command, "quiet", "", False, "print no report and no progress")
    # fmt: on
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code; an expected error is one sentence on stderr."""
    options = command_parser().parse_args(words)
    try:
        from lpsvdd.cli import commands

        (commands.fit_table if options.command == "fit" else commands.score_table)(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as shells do: 128 plus the signal
    except KeyboardInterrupt:
        print("\nstopped; no file was left half written", file=sys.stderr)
        return 130
    except (OSError, ValueError, MemoryError, ImportError) as error:
        text = f"not enough memory: {error}" if isinstance(error, MemoryError) else str(error)
        text = re.sub(r"^\[Errno \d+\] ", "", text)
        print("error:", " ".join(text.split()), file=sys.stderr)
        return 1
    return 0
