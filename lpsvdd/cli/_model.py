"""The pipeline that ``fit`` makes, what a detector says of rows, and of rows it has not seen.

    columns  ->  (numbers: fill in, standardise | categories: indicators)  ->  LpSVDD,

all inside the pipeline that is saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lpsvdd.cli._report import line

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.pipeline import Pipeline

    from lpsvdd.cli._roles import Roles, Rows


def make_model(roles: Roles, detector: Any, *, raw: bool = False) -> Pipeline:
    """An unfitted pipeline for the columns of these roles, with the detector at its end."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    from lpsvdd.preprocessing import Indicators, preprocessor

    impute = str(roles.missing) if roles.fills else None
    numbers = preprocessor(impute=impute, standardise=not raw, unit_norm=False)
    if not roles.categorical:
        return make_pipeline(numbers, detector)
    parts: list[Any] = [("categories", Indicators(), list(roles.categorical))]
    if roles.numeric:
        parts.insert(0, ("numbers", numbers, list(roles.numeric)))
    return make_pipeline(ColumnTransformer(parts, verbose_feature_names_out=False), detector)


def fit_to(pipeline: Pipeline, rows: Rows, *, negatives: bool) -> Any:
    """Fit to the targets, or to all rows with their labels; the LpSVDD inside."""
    frame, y = rows.frame, rows.y
    if negatives and (y is None or not (y < 0).any()):
        raise ValueError("--negatives needs rows labelled -1; name their column with --label")
    pipeline.fit(frame if y is None or negatives else frame[y > 0], y if negatives else None)
    return getattr(pipeline[-1], "best_estimator_", pipeline[-1])


def seen_by(model: Any, frame: pd.DataFrame) -> tuple[Any, Any]:
    """The detector at the end of a model, and the rows as it sees them."""
    data = frame if hasattr(model, "feature_names_in_") else frame.to_numpy()
    if not hasattr(model, "steps"):
        return model, data
    return model[-1], np.asarray(model[:-1].transform(data), dtype=float)


def judge(model: Any, frame: pd.DataFrame, explain: int = 0) -> pd.DataFrame:
    """Score (high is normal), distance to the threshold, verdict, reasons; by row number."""
    import pandas as pd

    last, points = seen_by(model, frame)
    score = np.asarray(last.score_samples(points), dtype=float)
    decision = score - last.offset_  # decision_function, without a second kernel matrix
    verdict = np.where(decision >= 0.0, 1, -1)
    columns = {"score": score, "decision": decision, "prediction": verdict}
    scores = pd.DataFrame(columns, index=frame.index)
    if explain:
        from lpsvdd.explain import explain as explained

        parts = explained(model, frame)
        scores["reasons"] = [
            "; ".join(f"{name} {part:.3g}" for name, _, part in parts.reasons(row, explain))
            for row in range(len(frame))
        ]
    return scores


def unseen(model: Any, rows: Rows, roles: Roles) -> list[tuple[str, str]]:
    """Columns and values of categories that the fitted model has not met."""
    if not roles.categorical:
        return []
    encoder = model[0].named_transformers_["categories"]
    return [
        (name, value)
        for name, known in zip(roles.categorical, encoder.encoder_.categories_, strict=True)
        for value in sorted(set(rows.frame[name]) - {*known, ""})
    ]


def held_out(
    pipeline: Pipeline, frame: pd.DataFrame, y: np.ndarray, *, negatives: bool, rate: float
) -> list[str]:
    """What the report says of new rows: each target judged by a model of the others, in five folds.

    Of more than a thousand targets one part of at most 2,000 is judged.
    """
    from sklearn.base import clone
    from sklearn.model_selection import KFold, ShuffleSplit

    pool, others = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    if len(pool) < 10:
        return [line("new targets", "too few rows to say how many will be rejected")]
    model = clone(pipeline)
    if hasattr(pipeline[-1], "best_estimator_"):  # width and share as chosen
        model.steps[-1] = (pipeline.steps[-1][0], clone(pipeline[-1].best_estimator_))
    if "certificate" in model[-1].get_params():  # takes longer than the fit, and nobody asks
        model[-1].set_params(certificate="none")
    folds: Any = KFold(5, shuffle=True, random_state=0)
    if len(pool) > 1000:
        folds = ShuffleSplit(1, test_size=min(2000, len(pool) // 5), random_state=0)
    rejected, tested, aucs = 0, 0, []
    for i, (train, test) in enumerate(folds.split(pool)):
        judged = others[i::5] if negatives else others
        used = np.concatenate([pool[train], np.setdiff1d(others, judged)])
        model.fit(frame.iloc[used], y[used] if negatives else None)
        scores = judge(model, frame.iloc[np.concatenate([pool[test], judged])])
        rejected += int((scores["prediction"].iloc[: len(test)] < 0).sum())
        tested += len(test)
        if len(judged):
            aucs.append(auc(scores["score"], np.repeat([1, -1], [len(test), len(judged)])))
    text = f"about {100 * rejected / tested:.0f} % are rejected ({rejected} of {tested} held out)"
    if rejected > max(2.0 * rate * tested, 3):
        text += f"; for about {100 * rate:.0f} %: --holdout 0.3"
    said = [line("new targets", text)]
    return said + [line("AUC", f"{np.mean(aucs):.4f} (held out)")] if aucs else said


def held_aside(y: np.ndarray, share: float, negatives: bool) -> np.ndarray:
    """Mask of the rows for the threshold: a share of the targets, and of negatives if used."""
    if not 0.0 <= share < 1.0:
        raise ValueError(f"--holdout takes a share between 0 and 1, got {share:g}")
    aside = np.zeros(len(y), dtype=bool)
    for group in (y > 0, (y < 0) & negatives):
        places = np.random.default_rng(0).permutation(np.flatnonzero(group))
        aside[places[: round(share * len(places))]] = True
    return aside


def calibrate(pipeline: Pipeline, frame: pd.DataFrame, rate: float) -> None:
    """Move the threshold so that new targets are rejected at this rate, by rows not fitted to."""
    if rate * (len(frame) + 1) < 1.0:
        raise ValueError(
            f"a threshold that rejects {rate:g} needs {int(np.ceil(1 / rate)) - 1} targets held "
            f"out, and --holdout leaves {len(frame)}"
        )
    last, points = seen_by(pipeline, frame)
    svdd = getattr(last, "best_estimator_", last)
    last.offset_ = svdd.rethreshold(points, false_alarm_rate=rate).offset_


def auc(scores: Any, y: np.ndarray) -> float:
    """Area under the ROC curve of rows labelled +1 and -1."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y, np.asarray(scores, dtype=float)))
