"""Reference methods that choose as the paper's do.

Tables: ``references`` beside ``pure``; the rule is in ``studies/plans/same_rule.md``.
"""

from __future__ import annotations

import pandas as pd

WITH_KERNEL_MEAN, COMPONENTS = "KPCA", "KPCA, one component or more"


def beside_pure(references: pd.DataFrame, pure: pd.DataFrame) -> pd.DataFrame:
    """Rows of the references, and those of the paper's methods on the same splits."""
    columns = ["dataset", "method", "trial", "auc"]
    keys = references[["dataset", "trial"]].drop_duplicates()
    own = pure[pure["method"] != WITH_KERNEL_MEAN][columns].merge(keys, on=["dataset", "trial"])
    return pd.concat([own, references[columns]], ignore_index=True)
