"""The commands ``fit`` and ``score``, and what they print."""

from __future__ import annotations

import gzip
import os
import sys
import threading
import time
import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from lpsvdd import LpSVDD, LpSVDDCV, save, tables
from lpsvdd._atomic import whole_file
from lpsvdd._columns import detector_inside, transformed
from lpsvdd.explain import explain
from lpsvdd.persistence import load_model, read_notes
from lpsvdd.tables import ColumnRoles, joined

REPORT_FOLDS = 5
FEWEST_TARGETS = 10  # normal rows to cross-validate
DELAY_SECONDS = 3.0  # before progress is shown


def fit_table(options: Namespace) -> None:
    """Read a table, fit the model, judge it on rows held out, write what is asked for."""
    check_outputs({"--model": options.model, "--output": options.output}, [options.table])
    notes: list[str] = []
    with progress(options, f"reading {options.table}", notes):
        frame, roles, y = _training(options, notes)
        rows = tables.model_rows(frame, roles, options.decimal)
    normal, n = rows[y > 0], int((y > 0).sum())
    model = make_pipeline(tables.column_transformer(roles, normal), _detector(options))
    with progress(options, f"fitting {n} rows", notes):
        model.fit(normal)
    _, svdd = detector_inside(model)
    certificate = "NOT CONVERGED" if svdd.status_ == "not-converged" else "optimal"
    if svdd.solver_ == "landmarks":  # the gap is that of the problem without them
        certificate += f" on {len(svdd.X_fit_)} landmarks"
    lines = {
        "data": f"{len(y)} rows, {n} of them normal",
        "columns": f"{len(roles.features)} used: {joined(roles.features)}",
        "model": f"p = {svdd.p:g}, nu = {svdd.nu_:g}, gamma = {svdd.gamma_:.4g}, C = {svdd.C_:.4g}",
        "support vectors": f"{len(svdd.support_)} of {len(svdd.y_fit_)}",
        "duality gap": f"{max(svdd.duality_gap_, 0.0):.1e}, {certificate}",
    }
    if not options.quiet:
        lines |= _held_out(options, model, rows, y)
    if options.model:
        save(model, options.model, notes=vars(roles))
        lines["model file"] = options.model
    if options.output:
        write_scores(options.output, frame, roles, scores_and_predictions(model, rows), y)
    report(options, lines, notes)


def _training(options: Namespace, notes: list[str]) -> tuple[pd.DataFrame, ColumnRoles, np.ndarray]:
    """Return the rows to use, the roles of their columns and their labels."""
    frame = tables.read_table(options.table, sep=options.sep, decimal=options.decimal)
    if options.target and not options.label:
        raise ValueError("--target names a class, and --label the column that holds it: give both")
    roles = ColumnRoles([], [], options.id or [], options.label, options.target, options.missing)
    tables.check_columns(frame, [*roles.named, *options.drop])
    y = tables.target_labels(frame, roles)
    if np.isnan(y).any() or not (y > 0).any():
        held = f"and {roles.target or 1!r} in some; it holds {joined(frame[roles.label].unique())}"
        raise ValueError(f"column {roles.label!r} needs a label in each row, {held}")
    notes += tables.find_roles(frame[y > 0].drop(columns=options.drop), roles, options.decimal)
    holes = tables.incomplete_rows(frame, roles)
    if holes.any():
        notes.append(f"dropped for missing values: {holes.sum()} rows")
    if not (y[~holes] > 0).any():
        raise ValueError("every normal row lacks a value: fill them in, or add --missing median")
    return frame[~holes], roles, y[~holes]


def _detector(options: Namespace) -> Any:
    if options.tune and options.gamma is not None:
        raise ValueError("--tune chooses gamma: give --tune or --gamma, not both")
    if options.trim and not options.tune:
        raise ValueError("--trim needs --tune")
    if options.tune:
        return LpSVDDCV(p=options.p, nus=[options.nu], trim=options.trim, random_state=0)
    width = {} if options.gamma is None else {"gamma": options.gamma}
    return LpSVDD(p=options.p, nu=options.nu, **width)


def _held_out(options: Namespace, fitted: Any, rows: pd.DataFrame, y: np.ndarray) -> dict[str, str]:
    """Return what cross-validation says of new rows: each is judged by a model of the others."""
    normal, others = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    if len(normal) < FEWEST_TARGETS:
        return {"new normal rows": "too few rows to say how many will be rejected"}
    model = clone(fitted)
    if options.tune:  # the width is not chosen again; --trim leaves rows out in every fold
        model[-1].set_params(gammas=[fitted[-1].best_params_["gamma"]])
    rejected, aucs = 0, []
    folds = KFold(REPORT_FOLDS, shuffle=True, random_state=0).split(normal)
    for fold, (train, test) in enumerate(folds, 1):
        with progress(options, f"judging rows held out, part {fold} of {REPORT_FOLDS}", []):
            model.fit(rows.iloc[normal[train]])
            decision = model.decision_function(rows.iloc[[*normal[test], *others]])
        rejected += int((decision[: len(test)] < 0).sum())
        if len(others):
            aucs.append(roc_auc_score(np.arange(len(decision)) < len(test), decision))
    low, high = binomtest(rejected, len(normal)).proportion_ci(0.95)  # Clopper and Pearson
    share = f"{rejected / len(normal):.1%} are rejected ({rejected} of {len(normal)} held out"
    lines = {"new normal rows": f"{share}; 95 % interval {low:.1%} to {high:.1%})"}
    return lines | ({"AUC": f"{np.mean(aucs):.4f} on rows held out"} if aucs else {})


def score_table(options: Namespace) -> None:
    """Read a model and a table, write the scores, report shares and AUC."""
    check_outputs({"--output": options.output}, [options.model, options.table])
    notes: list[str] = []
    with progress(options, f"scoring {options.table}", notes):
        frame = tables.read_table(options.table, sep=options.sep, decimal=options.decimal)
        model, roles = _model_and_roles(options, frame)
        holes = tables.incomplete_rows(frame, roles)
        if holes.all():
            raise ValueError("every row lacks a value that the model needs: fill them in")
        labels = tables.target_labels(frame, roles)
        rows, y = tables.model_rows(frame[~holes], roles, options.decimal), labels[~holes]
        scores = scores_and_predictions(model, rows)
        if options.explain > 0:
            parts = explain(model, rows)
            reasons = [parts.reasons(row, options.explain) for row in range(len(rows))]
            texts = [[f"{name} {part:.3g}" for name, _, part in row] for row in reasons]
            scores["reasons"] = ["; ".join(row) for row in texts]
    notes += _unseen_categories(model, rows)
    without = f", {holes.sum()} lack a value and have no score" if holes.any() else ""
    lines = {"scored": f"{len(rows)} of {len(frame)} rows{without}"}
    groups = {"normal": y > 0, "others": y < 0} if roles.label else {"rows": y > 0}
    for name, group in groups.items():
        outside = (scores["prediction"] < 0)[group]
        if len(outside):
            lines[f"rejected {name}"] = f"{outside.sum()} of {len(outside)} ({outside.mean():.1%})"
    new = ~_in_training(model, rows)
    if not new.all():
        lines["in training"] = f"at least {(~new).sum()} rows, on which a model looks too good"
    new &= ~np.isnan(y)
    if len({*y[new]}) == 2:
        auc = roc_auc_score(y[new], scores["score"][new])
        lines["AUC"] = f"{auc:.4f} on {new.sum()} rows that the model does not keep"
    write_scores(options.output, frame, roles, scores, labels)
    report(options, lines, notes)


def _model_and_roles(options: Namespace, frame: pd.DataFrame) -> tuple[Any, ColumnRoles]:
    """Return the model and the roles of the columns, as in ``fit`` where no option says other."""
    model, known = load_model(options.model), read_notes(options.model)
    if not hasattr(model, "feature_names_in_"):
        raise ValueError(f"{options.model} must hold a detector that was fitted to a data frame")
    roles = ColumnRoles(**known) if known else ColumnRoles([*model.feature_names_in_], [], [])
    roles.ids = options.id or [name for name in roles.ids if name in frame]
    roles.label = options.label or (roles.label if roles.label in frame else None)
    roles.target = options.target or roles.target
    roles.missing = "median" if roles.missing == "median" else "drop"
    tables.check_columns(frame, [*roles.features, *roles.named])
    return model, roles


def _unseen_categories(model: Any, rows: pd.DataFrame) -> Iterator[str]:
    """Yield a note for each column with categories that the model has not met."""
    parts = getattr((detector_inside(model)[0] or [None])[0], "named_transformers_", {})
    if "categories" in parts:
        encoder = parts["categories"][0]
        for name, known in zip(encoder.feature_names_in_, encoder.categories_, strict=True):
            if new := sorted({*rows[name]} - {*known}):
                yield f"column {name!r} holds categories that are not in training: {joined(new, 5)}"


def _in_training(model: Any, rows: pd.DataFrame) -> np.ndarray:
    """Return a mask of the rows that equal one of those that the model keeps."""
    steps, svdd = detector_inside(model)
    known = {row.tobytes() for row in svdd.X_fit_ + 0.0}  # -0.0 is 0.0
    return np.array([row.tobytes() in known for row in np.asarray(transformed(steps, rows)) + 0.0])


def scores_and_predictions(model: Any, rows: pd.DataFrame) -> pd.DataFrame:
    """Return score (high is normal), decision (negative is outside) and prediction of each row."""
    scores = np.asarray(model.score_samples(rows))
    decision = scores - detector_inside(model)[1].offset_
    columns = {"score": scores, "decision": decision, "prediction": np.where(decision < 0, -1, 1)}
    return pd.DataFrame(columns, index=rows.index)


def check_outputs(outputs: dict[str, str | None], inputs: list[str]) -> None:
    """Raise ValueError if an output, by its option, is an input or cannot be written."""
    seen = {os.path.realpath(path): "an input" for path in inputs}
    for option, path in outputs.items():
        if path is not None and path != "-":
            real = os.path.realpath(path)
            if (other := seen.setdefault(real, option)) != option:
                raise ValueError(f"{option} {path} is {other} as well: choose another name")
            folder = os.path.dirname(real)
            if os.path.isdir(real) or not (os.path.exists(real) or os.access(folder, os.W_OK)):
                raise ValueError(
                    f"{option} {path} cannot be written: name a file, in a folder "
                    "that exists and where you may write"
                )


def write_scores(
    path: str, frame: pd.DataFrame, roles: ColumnRoles, scores: pd.DataFrame, y: np.ndarray
) -> None:
    """Write ids, row numbers, scores and labels as CSV, compressed where the name ends in .gz."""
    if clash := {*roles.ids} & {"row", "label", *scores}:
        raise ValueError(
            f"the output has a column {joined(clash)} of its own: rename the id column"
        )
    table = frame[roles.ids].join(scores.astype({"prediction": "Int64"})).reset_index()
    table = table[[*roles.ids, "row", *scores]]
    if roles.label:
        table["label"] = pd.array(y, dtype="Int64")
    text = table.to_csv(index=False, lineterminator="\n")
    if path == "-":
        sys.stdout.write(text)
        return
    with whole_file(path) as handle:
        data = text.encode()
        handle.write(gzip.compress(data, mtime=0) if path.endswith(".gz") else data)


@contextmanager
def progress(options: Namespace, what: str, notes: list[str]) -> Iterator[None]:
    """Show on a terminal what takes long, and add the warnings of the block to the notes."""
    done, start = threading.Event(), time.monotonic()

    def show() -> None:
        while not done.wait(DELAY_SECONDS):
            seconds = time.monotonic() - start
            print(f"\r\033[K{what}: {seconds:.0f} s", end="", file=sys.stderr, flush=True)
        print("\r\033[K", end="", file=sys.stderr, flush=True)

    watch = threading.Thread(target=show, daemon=True)
    if sys.stderr.isatty() and not options.quiet:
        watch.start()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        done.set()
        if watch.ident:
            watch.join()
    notes += [" ".join(str(one.message).split()) for one in caught]


def report(options: Namespace, lines: dict[str, str], notes: list[str]) -> None:
    """Print lines in two columns, then the notes; on stderr when stdout carries the scores."""
    texts = [f"{name:<16} {text}" for name, text in lines.items()]
    texts += [f"note: {note}" for note in dict.fromkeys(notes)]
    if not options.quiet:
        print(*texts, sep="\n", file=sys.stderr if options.output == "-" else sys.stdout)
