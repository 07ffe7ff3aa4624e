"""Command line ``lpsvdd``: ``fit`` a table, ``score`` another.

What a command needs is imported when it runs, so that ``lpsvdd --help`` answers at once.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence

import lpsvdd

FIT_EXAMPLES = """examples:
  lpsvdd fit train.csv --id name --model m.lpsvdd
  lpsvdd fit iris.csv --label species --target setosa --tune --nu 0.05 --model iris.lpsvdd
  lpsvdd fit export.csv --sep ';' --decimal , --missing median --drop comment"""
SCORE_EXAMPLES = """examples:
  lpsvdd score m.lpsvdd new.csv --output scores.csv
  lpsvdd score iris.lpsvdd iris.csv --explain 2
  lpsvdd score m.lpsvdd - < new.csv | head"""
FIT = "Learn from the normal rows of a table, and say how many new normal rows will be rejected."
SCORE = """Score the rows of a table with a model; columns are found by name. High scores are
normal, and prediction is 1 for normal and -1 for unusual rows."""
TABLE = "a header and rows: .csv, .tsv (also .gz, .zip), .xlsx or .parquet; - is standard input"


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""

    def names(text: str) -> list[str]:
        return [name.strip() for name in text.split(",") if name.strip()]

    def number_or_rule(text: str) -> float | str:
        try:
            return float(text)
        except ValueError:
            return text

    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "lpsvdd", description="Learn from normal rows and flag unusual ones.",
        epilog=f"{FIT_EXAMPLES}\n{SCORE_EXAMPLES[10:]}", formatter_class=layout,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"lpsvdd {lpsvdd.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="{fit,score}", required=True)
    # fmt: off
    fit = commands.add_parser("fit", help=FIT, description=FIT, epilog=FIT_EXAMPLES,
                              formatter_class=layout)
    score = commands.add_parser("score", help="Score the rows of a table with that model.",
                                description=SCORE, epilog=SCORE_EXAMPLES, formatter_class=layout)
    score.add_argument("model", metavar="MODEL", help="file written by lpsvdd fit or lpsvdd.save")
    for command in (fit, score):
        command.add_argument("table", metavar="TABLE", help=TABLE)
    for option, kind, default, metavar, text in (
        ("nu", float, 0.1, "NUMBER", "share of new normal rows to reject, above 0 (default: 0.1)"),
        ("p", float, 2.0, "NUMBER", "exponent of the slack, at least 1 (default: 2)"),
        ("gamma", number_or_rule, None, "NUMBER|RULE", "of the kernel exp(-gamma d^2): positive, "
         "or quarter-mean-distance (default), half-mean-distance, scale, auto"),
        ("trim", float, 0.0, "NUMBER", "with --tune: first leave out this share of the rows, those "
         "that look least normal (default: 0)"),
        ("categorical", names, [], "A,B", "columns of categories, even of numbers (default: text)"),
        ("drop", names, [], "A,B", "columns not to use (default: none)"),
        ("model", str, None, "FILE", "file to keep the model in, for score (default: none)"),
        ("output", str, None, "FILE", "CSV file for scores of the rows; - is standard output "
         "(default: none)"),
    ):
        fit.add_argument(f"--{option}", type=kind, default=default, metavar=metavar, help=text)
    fit.add_argument("--tune", action="store_true",
                     help="choose gamma by cross-validation, without labels (default: off)")
    fit.add_argument("--missing", choices=["error", "drop", "median"], default="error",
                     help="a missing value is an error (default), its row is dropped, or it is "
                     "filled in: median, or a category of its own")
    score.add_argument("--missing", choices=["error", "drop"],
                       help="a missing value is an error, or its row gets no score "
                       "(default: as in fit)")
    score.add_argument("--output", default="-", metavar="FILE",
                       help="CSV file for the scores; - is standard output (default: -)")
    score.add_argument("--explain", type=int, default=0, metavar="INTEGER",
                       help="name so many columns that lower a score most (default: 0)")
    for command, otherwise in ((fit, "none"), (score, "as in fit")):
        for option, kind, metavar, text in (
            ("id", names, "A,B", f"columns that name a row, for output (default: {otherwise})"),
            ("label", str, "NAME", f"column of labels 1 (normal) and -1 (default: {otherwise})"),
            ("target", str, "CLASS", "class of the normal rows, where the labels are classes "
             f"(default: {'1' if command is fit else otherwise})"),
            ("sep", str, "TEXT", "what separates cells (default: comma; tabulator for .tsv)"),
        ):
            command.add_argument(f"--{option}", type=kind, metavar=metavar, help=text)
        command.add_argument("--decimal", choices=[".", ","], default=".",
                             help="decimal sign (default: .)")
        command.add_argument("--quiet", action="store_true",
                             help="no report and no progress (default: off)")
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
