"""``lpsvdd tune``: choose width, share and exponent for a table without labelled outliers."""

from __future__ import annotations

from typing import Annotated

import typer

from lpsvdd.cli._options import Data, Force, Keep, Quiet
from lpsvdd.cli._outputs import check_outputs, open_text
from lpsvdd.cli._report import line, show
from lpsvdd.cli._roles import Roles
from lpsvdd.cli.fit import describe


def tune(
    ctx: typer.Context,
    data: Data,
    roles: Roles,
    written: list[str],
    model: Keep = None,
    results: Annotated[str | None, typer.Option(help="CSV file for every candidate.")] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Choose the parameters of an lp-SVDD by cross-validation without labels.

    Rows labelled -1 take no part; they serve the AUC of the report only. Every parameter of
    LpSVDDCV is an option too: --p, --nu and --gamma (may be repeated), --criterion, --folds,
    --seed, --jobs, --max-samples, --contamination; and --trim 0.1, which leaves out the tenth
    of the rows that looks least normal, for tables that may hold outliers.

    Example: lpsvdd tune iris.csv --label species --target setosa --model iris.lpsvdd
    """
    import pandas as pd

    check_outputs({"--results": results, "--model": model}, [data], force=force)
    fitted = describe(ctx, data, roles, True, quiet=quiet)
    search = fitted.pipeline[-1]
    table = pd.DataFrame(search.cv_results_).drop(columns="params")
    table.columns = [name.removeprefix("param_") for name in table.columns]
    table = table.sort_values("rank_test_score", kind="stable")
    if results is not None:
        with open_text(results, force=force) as handle:
            table.to_csv(handle, index=False, lineterminator="\n")
        written.append(results)
    if model is not None:
        fitted.save(model, force=force)
        written.append(model)
    judge = f"{search.criterion}, {search.n_splits_} folds, {len(table)} candidates"
    lines = [fitted.lines[0], line("judged by", judge)]
    for name, row in zip(("chosen", "next", "next"), table.itertuples(), strict=False):
        text = f"p = {row.p:g}, nu = {row.nu:g}, gamma = {row.gamma:.4g}"
        score = f"{row.mean_test_score:.4f} (sd {row.std_test_score:.4f})"
        lines.append(line(name, f"{text}: {score}"))
    if not quiet:
        show([*lines, *fitted.lines[1:]], fitted.table.notes, written, err=False)
