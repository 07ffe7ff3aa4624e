"""Features learnt together with the ball (table ``deep``; rules: ``studies/plans/deep.md``)."""

import pandas as pd

from replication.findings import Finding, finding, graded
from replication.statistics import cluster_interval
from replication.studies.deep import EPOCHS, HALF, LONG, LOSSES, SHARE
from replication.wording import worded


@finding("deep")
def deep(rows: pd.DataFrame) -> Finding:
    """AUC minus that of kernel lp-SVDD (p = 2) on pixels, over ten classes; losses beside losses.

    Holds when one of the 16 variants with a slack loss is above it; partly when only the kernel
    model on features learnt with p = 2 is, or a gain above half a point is not excluded.
    """
    filled = rows.fillna({"start": "", "loss": "", "share": SHARE, "epochs": 0})
    usual = filled[(filled["share"] == SHARE) & (filled["epochs"] <= EPOCHS)]
    cell = ["method", "features", "start", "loss"]
    wide = usual.pivot_table("auc", "dataset", cell)
    reference = wide["kernel p = 2", "pixels", "", ""]
    over = wide.sub(reference, axis=0)
    variants = over["ball"].drop(columns=["none", "one-class"], level="loss")
    coupled = over["kernel p = 2"].xs("p = 2", axis=1, level="loss")
    better = sum(one.low > 0 for one in variants.apply(cluster_interval, level=1 - 0.05 / 16))
    hybrids = sum(one.low > 0 for one in coupled.apply(cluster_interval, level=1 - 0.05 / 4))
    found = variants.apply(cluster_interval)
    best = variants.mean().idxmax()
    mean = over.T.groupby(["method", "loss"]).mean().T  # over encoders and starts
    lines = {f"{c[0]}, {c[1]}": over[c] for c in over if c[3] == "" and over[c].any()}
    lines |= {f"network, {loss}": mean["ball", loss] for loss in LOSSES}
    for line, loss in (("start of network", "none"), ("network p = 2", "p = 2")):
        lines[f"kernel p = 2, {line}"] = mean["kernel p = 2", loss]
    slack = mean["ball"].drop(columns=["none", "one-class"])
    gaps = {f"p{loss[4:]}": slack[loss] - mean["ball", "one-class"] for loss in slack}
    gaps["learning"] = mean["kernel p = 2", "p = 2"] - mean["kernel p = 2", "none"]
    control = filled.pivot_table("auc", "dataset", ["trial", "epochs", "share", *cell])[0]
    for name, how in {"longer": (LONG * EPOCHS, SHARE), "half": (EPOCHS, HALF)}.items():
        gaps[name] = (control[*how, "ball"] - control[EPOCHS, SHARE, "ball"]).mean(axis=1)
    learnt = usual[(usual["epochs"] > 0) & (usual["method"] == "ball")]
    facts = {name.replace("/", "_"): worded(cluster_interval(gap)) for name, gap in gaps.items()}
    facts |= {"classes": len(wide), "seeds": rows["trial"].nunique(), "reference": reference.mean()}
    facts |= {"variants": len(found), "better": better, "open": sum(o.high > 0.5 for o in found)}
    facts |= {"best": ", ".join(best), "best_over": worded(found[best])}
    facts |= {"variance": 100 * learnt["variance"].median()}
    facts |= {"rank": learnt["rank"].median(), "rank_least": learnt["rank"].min()}
    table = pd.DataFrame({name: vars(cluster_interval(v)) for name, v in lines.items()}).T
    return Finding(graded(better > 0, hybrids + facts["open"] > 0), facts, table)
