# ruff: noqa: E501  (lines of JavaScript that run in the page)
"""The interactive figure in a real browser: its answers are the package's, and hands reach it.

``check_explorable`` looks at the page that is open; ``self_test`` plants one fault of each kind in
the figure and asks that it is noticed.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from lpsvdd import LpSVDD, solve
from lpsvdd.explain import explain
from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma
from lpsvdd.surface import leave_one_out, upper_quantile
from replication.share import solve_share

Problem = tuple[str, str]
FIGURE = "document.querySelector('figure.explorable')"
PHONE, DESK = (360, 740), (1280, 900)
FINGER = 40.0
"""CSS px that a finger needs."""
DONE = f"!{FIGURE}.innerText.match(/Solving every|Looking for/)"
ANSWER = """(f) => { const { model: m, state, plane, gammaNow } = f.lpsvdd; return {
  points: plane.points, gamma: gammaNow, p: m.p, c: m.c, alpha: [...m.alpha], radius: m.radiusSq,
  gap: m.gap, converged: m.converged, tilt: m.tilt, level: m.level, reached: m.reached, state,
  counts: [m.inside, m.surface, m.outside, m.support, m.n] }; }"""
BALLS: list[dict] = [
    {"kernel": "linear", "hard": True},
    *({"kernel": "linear", "p": p, "share": 0.1} for p in (1.0, 2.0, 5.0)),
    *({"p": p, "share": s, "width": 2} for p in (1.0, 1.2, 2.0, 5.0, 20.0) for s in (0.1, 0.5)),
    *({"p": p, "c": c, "locked": False} for p in (1.0, 1.2, 5.0) for c in (0.005, 0.1, 1.0)),
]
NORMAL = "\n".join(f"{i % 7},{i % 5}" for i in range(20))
BAD_FILES = {
    "": "empty",
    "a,b\n1,2\n": "too few",
    "a,b\n" + NORMAL + "\n1\n": "line 22 has 1 cells",
    "a,b\n" + NORMAL + "\n1,n/a\n": "line 22, column “b”: “n/a” is not a number",
    "a,b\n" + NORMAL + "\n1,\n": "the cell is empty",
    "a,b\n" + NORMAL.replace(",", ",x"): "two or more columns",
    'a,b\n"1,2\n' + NORMAL: "never closed",
    "a\0b": "not a CSV",
}


async def do(page: Any, script: str, argument: Any = None) -> Any:
    """Evaluate a function of the figure."""
    return await page.tab.evaluate(f"(argument) => ({script})({FIGURE}, argument)", argument)


async def enter(page: Any, step: str) -> None:
    """Open a step and wait until all of it is computed."""
    await do(page, "(f, step) => { f.querySelector(`#tab-${step}`).click(); }", step)
    await settle(page)


async def settle(page: Any) -> None:
    await asyncio.sleep(0.1)
    await page.tab.wait_for_function(DONE, timeout=60_000)


def against_package(found: dict) -> str:
    """What differs between the browser's ball and the package's, empty if nothing does."""
    X, alpha = np.array(found["points"]), np.array(found["alpha"])
    linear = found["gamma"] == "linear"
    K = kernel_matrix(X, kernel="linear") if linear else kernel_matrix(X, gamma=found["gamma"])
    there = (
        solve(K, p=found["p"], c=found["c"]) if found["p"] > 1 or found["c"] * len(X) > 1 else None
    )
    if there is None:  # below c = 1/n, p = 1 has no solution; both take the mean
        return "" if np.allclose(alpha, 1 / len(X)) else "not the mean"
    step = alpha - there.alpha
    unit = float(np.trace(K) / len(K) - K.mean())
    apart = {
        "centre": float(np.sqrt(max(step @ K @ step, 0.0) / unit)),
        "R2": abs(found["radius"] - there.radius_sq) / (unit + abs(there.radius_sq)),
        "tilt": 0.0 if linear else abs(found["tilt"] - there.tilt) / (1.0 + there.tilt),
    }
    if found["state"]["locked"] and not found["state"]["hard"]:
        share = solve_share(K, p=found["p"], nu=found["state"]["share"])
        outside, wanted = found["counts"][2], found["state"]["share"] * len(X)
        # Up to one sample: near p = 1 slacks of rounding size decide who is outside.
        apart["share"] = (
            max(abs(outside - wanted) - 1, 0) if found["p"] > 1 and share.reached else 0.0
        )
        if found["p"] == 1.0 and outside > wanted:
            apart["share"] = outside - wanted
    return ", ".join(f"{name} by {value:.1e}" for name, value in apart.items() if value > 1e-3)


async def balls(page: Any) -> list[Problem]:
    """Balls of several steps: the package's, certified, with counts that add up."""
    problems = []
    await enter(page, "kernel")
    for changes in BALLS:
        full = {"kernel": "gauss", "hard": False, "locked": True, "width": 1} | changes
        found = await do(page, f"(f, s) => {{ f.lpsvdd.set(s); return ({ANSWER})(f); }}", full)
        inside, surface, outside, support, n = found["counts"]
        if not found["converged"] or not -1e-9 <= found["gap"] <= 1e-9:
            problems.append(("explorable not certified", f"{changes}: gap {found['gap']}"))
        if inside + surface + outside != n or (found["reached"] and support < outside):
            problems.append(("explorable counts do not add up", f"{changes}: {found['counts']}"))
        if differs := against_package(found):
            problems.append(("explorable disagrees with the package", f"{changes}: {differs}"))
    return problems


async def outliers(page: Any) -> list[Problem]:
    """Balls with labelled outliers are the package's; one is added by a key and by a click."""
    problems = []
    await enter(page, "outliers")
    for p, c in ((1.0, 0.1), (1.0, 20.0), (1.2, 1.0), (2.0, 20.0), (5.0, 100.0)):
        found = await do(
            page,
            f"(f, s) => {{ f.lpsvdd.set(s); return {{ ...({ANSWER})(f), labels: f.lpsvdd.plane.labels, caught: f.lpsvdd.model.caught }}; }}",
            {"p": p, "c": c, "width": 2},
        )
        X, y, alpha = (np.array(found[name]) for name in ("points", "labels", "alpha"))
        K = kernel_matrix(X, gamma=found["gamma"])
        there = solve(K, y, p=p, c=c)
        step = y * (alpha - there.alpha)
        apart = max(float(step @ K @ step) ** 0.5, abs(found["radius"] - there.radius_sq))
        if not found["converged"] or not apart < 1e-3:
            problems.append(("labelled outliers disagree", f"p = {p}, c = {c}: by {apart:.1e}"))
    count = "(f) => f.lpsvdd.plane.labels.filter((label) => label < 0).length"
    before = await do(page, count)
    await do(page, "(f) => f.querySelector('.plane svg').focus()")
    await page.press("-")
    await page.tab.locator(".plane svg").click(modifiers=["Alt"])
    await do(page, "(f) => { f.querySelector('[data-do=drop]').click(); }")
    if (added := await do(page, count) - before) != 3:
        problems.append(("labelled outliers are not added", f"{added} of 3"))
    return problems


async def nine(page: Any) -> list[Problem]:
    """Nine balls at one cost in one click; a panel opens its exponent; the address leads back."""
    await enter(page, "exponent")
    await page.tab.get_by_role("button", name="the paper's nine exponents").click()
    found = await do(
        page,
        "(f) => ({ panels: f.querySelectorAll('.panels > g').length, ps: f.lpsvdd.nine.map(({ model }) => model.p), good: f.lpsvdd.nine.every(({ model }) => model.converged), exponents: f.lpsvdd.data.nine })",
    )
    problems = []
    if found["panels"] != 9 or found["ps"] != found["exponents"] or not found["good"]:
        problems.append(("nine exponents are not shown", f"{found['panels']} panels"))
    await page.tab.locator(".plane svg").click(position={"x": 5, "y": 5})
    state = "(f) => [f.lpsvdd.state.p, f.lpsvdd.state.c, f.lpsvdd.step, Boolean(f.lpsvdd.nine)]"
    if await do(page, state) != [1, 1, "exponent", False]:
        problems.append(("nine exponents are not shown", "a click opens no panel"))
    await page.tab.get_by_role("button", name="6/5", exact=True).click()
    address = await page.evaluate("location.hash")
    await enter(page, "ball")
    await page.evaluate(f"location.hash = {address!r}")
    await settle(page)
    if (await do(page, state))[::2] != [1.2, "exponent"]:
        problems.append(("the address does not lead back", address))
    return problems


async def exponent(page: Any) -> list[Problem]:
    """A control in the text works, keeps the share, and finds the nearest l1 ball."""
    await enter(page, "exponent")
    await page.tab.get_by_role("button", name="20", exact=True).click()
    await settle(page)
    found = await do(page, ANSWER)
    ghost = await do(
        page, "(f) => ({ share: f.lpsvdd.ghost.share, alpha: [...f.lpsvdd.ghost.alpha] })"
    )
    X, n = np.array(found["points"]), len(found["points"])
    K = kernel_matrix(X, gamma=found["gamma"])
    shares = [max(k / 40, 0.5 / n) for k in range(40)]
    ones = [solve(K, p=1.0, c=1 / (s * n)).alpha for s in shares] + [np.full(n, 1 / n)]
    apart = [float((a - found["alpha"]) @ K @ (a - found["alpha"])) for a in ones]
    step = np.array(ghost["alpha"]) - np.array(found["alpha"])
    problems = []
    if found["p"] != 20 or found["counts"][2] != round(found["state"]["share"] * n):
        problems.append(("control in the text fails", f"p {found['p']}, {found['counts']}"))
    if float(step @ K @ step) > 1.001 * min(apart) + 1e-9:
        problems.append(("ghost is not the nearest", f"share {ghost['share']}"))
    return problems


async def grid(page: Any) -> list[Problem]:
    """AUC of every cell and of the chosen ones, on the paper's grid and over the same range."""
    problems = []
    await enter(page, "grid")
    for which in ("grid", "range"):
        await do(page, "(f, which) => f.lpsvdd.set({ which, mean: false })", which)
        await settle(page)
        found = await do(
            page,
            """(f) => ({ ...f.lpsvdd.judged, best: f.lpsvdd.best, judges: f.lpsvdd.data.grid.judges,
          points: f.lpsvdd.plane.points, gamma: f.lpsvdd.gammaNow })""",
        )
        X = np.array(found["points"])
        halves = [{k: np.array(v)[odd::2] for k, v in found["judges"].items()} for odd in (0, 1)]
        K = kernel_matrix(X, gamma=found["gamma"])
        for name, cells in found["families"].items():
            aucs = np.array([_aucs(cell, K, X, found["gamma"], halves) for cell in cells])
            shown = np.array([[cell["validation"], cell["test"]] for cell in cells])
            off = float(np.abs(aucs - shown).max())
            best = float(shown[np.argmax(shown[:, 0]), 1])
            if off > 0.2 or abs(found["best"][name]["test"] - best) > 1e-9:
                problems.append(("AUC differs from the package's", f"{which}, {name}: {off:.2f}"))
    return problems


def _aucs(
    cell: dict, K: np.ndarray, X: np.ndarray, gamma: float, halves: list[dict]
) -> list[float]:
    n, p, c = len(X), cell["p"], cell["c"]
    alpha = np.full(n, 1 / n) if p == 1 and c * n <= 1 + 1e-9 else solve(K, p=p, c=c).alpha
    out = []
    for half in halves:
        rows = np.vstack([half["targets"], half["outliers"]])
        y = np.r_[np.ones(len(half["targets"])), np.zeros(len(half["outliers"]))]
        out.append(100 * roc_auc_score(y, kernel_matrix(rows, X, gamma=gamma) @ alpha))
    return out


async def table(page: Any) -> list[Problem]:
    """Scores, threshold and reasons of the example; bad files are refused in words."""
    await enter(page, "own")
    await do(page, "(f) => { f.querySelector('[data-do=example]').click(); }")
    found = await do(
        page,
        """(f) => { const { table } = f.lpsvdd, { model, points, gamma, scores, threshold } = table.found;
      return { rows: table.rows, c: model.c, share: f.lpsvdd.state.share, scores: [...scores], threshold, text: f.querySelector('.table').innerText,
        reasons: globalThis.lpsvdd.contributions(points, model.alpha, gamma, table.Z.slice(0, 5)).map((row) => [...row]) }; }""",
    )
    Z = StandardScaler().fit_transform(np.array(found["rows"]))
    gamma = rbf_gamma(half_mean_distance(Z))
    model = LpSVDD(p=2.0, C=found["c"], gamma=gamma).fit(Z)
    K = kernel_matrix(Z, gamma=gamma)
    support = np.flatnonzero(model.alpha_)
    d, alpha = model.distance_fit_, model.alpha_
    without = leave_one_out(
        d + d @ alpha, alpha, p=2.0, y=np.ones(len(Z)), weight=np.ones(len(Z)), slack=model.slack_,
        K=K[np.ix_(support, support)],
    )  # fmt: skip
    level = upper_quantile(without, found["share"]) - d @ alpha  # no row is refitted in the figure
    apart = {
        "scores": np.abs(model.score_samples(Z) - found["scores"]).max(),
        "threshold": abs(found["threshold"] + level),
        "reasons": np.abs(explain(model, Z[:5]).contributions - found["reasons"]).max(),
    }
    problems = [
        ("own table disagrees with the package", f"{name} by {value:.1e}")
        for name, value in apart.items() if value > 1e-4
    ]  # fmt: skip
    if "rejected" not in found["text"]:
        problems.append(("own table disagrees with the package", "no row is shown as rejected"))
    for text, words in BAD_FILES.items():
        file = {"name": "bad.csv", "mimeType": "text/csv", "buffer": text.encode()}
        await page.tab.set_input_files("figure.explorable input[type=file]", file)
        for _ in range(40):  # a loaded machine is slow, not wrong
            await asyncio.sleep(0.05)
            said = await do(page, "(f) => f.querySelector('.message.error')?.textContent ?? ''")
            if words.lower() in said.lower():
                break
        else:
            problems.append(("bad file not explained", f"{text[-20:]!r}: {said!r}"))
    return problems


async def keys(page: Any) -> list[Problem]:
    """Everything can be reached and moved without a mouse."""
    problems = []
    await enter(page, "ball")
    state = "(f) => ({ step: f.lpsvdd.step, n: f.lpsvdd.plane.points.length, at: f.lpsvdd.plane.chosen, x: f.lpsvdd.plane.points[f.lpsvdd.plane.chosen][0] })"
    await do(page, "(f) => f.querySelector('.plane svg').focus()")
    for key, name, changes in (
        ("]", "at", 1),
        ("ArrowRight", "x", 1),
        ("+", "n", 1),
        ("Delete", "n", -1),
    ):
        before = await do(page, state)
        await page.press(key)
        after = await do(page, state)
        if np.sign(after[name] - before[name]) != changes:
            problems.append(("explorable ignores keys", f"{key}: {name} stays {after[name]}"))
    await do(page, "(f) => f.querySelector('#tab-ball').focus()")
    await page.press("ArrowRight")
    if (await do(page, state))["step"] != "slack":
        problems.append(("explorable ignores keys", "ArrowRight does not open the next step"))
    for name in ("p", "share"):
        before = await do(
            page,
            "(f, name) => { f.querySelector(`#explorable-${name}`).focus(); return [f.lpsvdd.state[name], f.lpsvdd.model.c]; }",
            name,
        )
        await page.press("ArrowRight")
        after = await do(page, "(f, name) => [f.lpsvdd.state[name], f.lpsvdd.model.c]", name)
        if after[0] <= before[0] or after[1] == before[1]:
            problems.append(("explorable ignores keys", f"slider {name}: {before} to {after}"))
    return problems


async def touch(page: Any) -> list[Problem]:
    """A finger drags a point up and down, the page stays, and the answer is that of the new points."""
    problems = []
    await page.resize(*PHONE)
    session = await page.tab.context.new_cdp_session(page.tab)
    await session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

    async def finger(kind: str, x: float = 0, y: float = 0) -> None:
        points = [] if kind == "touchEnd" else [{"x": x, "y": y}]
        await session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        await asyncio.sleep(0.03)

    await enter(page, "exponent")
    await do(
        page,
        "(f) => { f.scrollIntoView({ behavior: 'instant' }); scrollBy({ top: 120, behavior: 'instant' }); }",
    )
    await asyncio.sleep(0.3)
    place = """(f) => { const { points } = f.lpsvdd.plane, far = points.map(([x, y]) => Math.hypot(x - 2, y - 2));
      f.outermost ??= far.indexOf(Math.max(...far));
      const dot = f.querySelectorAll('.point')[f.outermost].getBoundingClientRect();
      return [dot.x + dot.width / 2, dot.y + dot.height / 2, scrollY]; }"""
    x, y, scrolled = await do(page, place)
    inward = 1 if y < PHONE[1] / 4 else -1
    await finger("touchStart", x + 6, y + 6)  # beside the dot: a finger is thick
    for k in range(1, 9):
        await finger("touchMove", x + 6 + 2 * k, y + 6 + inward * 5 * k)
    await finger("touchEnd")
    await settle(page)
    new_x, new_y, now = await do(page, place)
    if np.hypot(new_x - x - 22, new_y - y - 6 - 40 * inward) > 12 or now != scrolled:
        moved = f"by ({new_x - x:.0f}, {new_y - y:.0f}), page by {now - scrolled:.0f}"
        problems.append(("explorable loses touch", moved))
    if differs := against_package(await do(page, ANSWER)):
        problems.append(("explorable disagrees with the package", f"after a drag: {differs}"))
    await session.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
    return problems


LAYOUT = """(f, finger) => {
  const problems = [], plane = f.querySelector('.plane'), top = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
  const shown = (node) => node.getClientRects().length > 0, section = f.lpsvdd.section;
  for (const node of f.querySelectorAll('button, select, input[type=range], .lock, .file')) {
    const box = node.getBoundingClientRect();
    if (shown(node) && (box.height < finger - 0.5 || box.width < finger - 0.5)) problems.push(['too small for a finger', `${f.lpsvdd.step}: ${node.textContent || node.id} ${box.width.toFixed(0)} x ${box.height.toFixed(0)}`]);
  }
  for (const node of f.querySelectorAll('.controls input, .tools button, section[data-step] button')) {
    if (!shown(node)) continue;
    node.scrollIntoView({ block: 'end', behavior: 'instant' }); scrollBy({ top: 8, behavior: 'instant' });
    const box = node.getBoundingClientRect(), seen = plane.getBoundingClientRect(), says = f.querySelector('.certificate').getBoundingClientRect();
    if (seen.top < -1 || seen.bottom > innerHeight || box.bottom > innerHeight + 1 || (box.top < says.bottom && box.bottom > seen.top)) {
      problems.push(['plane and control not together', `${f.lpsvdd.step}: ${node.textContent || node.id}, plane ${seen.top.toFixed(0)} to ${seen.bottom.toFixed(0)}, control ${box.top.toFixed(0)} to ${box.bottom.toFixed(0)}`]);
    }
    if (!/Certified/.test(f.querySelector('.certificate').textContent) || says.bottom > innerHeight) problems.push(['certificate not in sight', f.lpsvdd.step]);
  }
  return problems;
}"""


async def phone(page: Any) -> list[Problem]:
    """On a phone the plane, its certificate and a control are on the screen together."""
    await page.resize(*PHONE)
    problems = []
    for step in ("ball", "slack", "kernel", "exponent", "outliers", "grid", "own"):
        await enter(page, step)
        problems += [tuple(found) for found in await do(page, LAYOUT, FINGER)]
    await page.resize(*DESK)
    return problems


PARTS: tuple[Callable[[Any], Awaitable[list[Problem]]], ...] = (
    balls, outliers, nine, exponent, grid, table, keys, touch, phone,
)  # fmt: skip


async def check_explorable(page: Any, parts=PARTS) -> list[Problem]:
    """Problems of the explorable of the page that is open, none where there is none."""
    if not await page.evaluate(f"Boolean({FIGURE})"):
        return []
    if not await page.evaluate(f"Boolean({FIGURE}.lpsvdd)"):
        return [("explorable did not start", "no state")]
    return [problem for part in parts for problem in await part(page)]


FAULTS: dict[str, tuple] = {
    "explorable did not start": (balls, "new Explorable(figure)", "figure"),
    "explorable not certified": (balls, "iteration <= 80", "iteration <= 3"),
    "explorable counts do not add up": (balls, "inside: count(\"inside\")", "inside: 1 + count(\"inside\")"),
    "explorable disagrees with the package": (balls, "residual[i] = y[i] * (k[i] * inv", "residual[i] = y[i] * (inv"),
    "labelled outliers disagree": (outliers, "y[i] * (k[i] * inv - b)", "k[i] * inv - b"),
    "labelled outliers are not added": (outliers, 'event.key === "-"', "false"),
    "nine exponents are not shown": (nine, "this.plane.picked = (k)", "this.plane.other = (k)"),
    "the address does not lead back": (nine, 'addEventListener("hashchange"', 'addEventListener("none"'),
    "control in the text fails": (exponent, "if (button?.dataset.set)", "if (false)"),
    "ghost is not the nearest": (exponent, "k = distances.indexOf(Math.min(...distances));", "k = 40;"),
    "AUC differs from the package's": (grid, "i % 2 === odd", "i % 2 !== odd"),
    "own table disagrees with the package": (table, "2 * value - constant[j]", "value - constant[j]"),
    "bad file not explained": (table, "if (uneven) throw", "if (false) throw"),
    "explorable ignores keys": (keys, 'event.key === "+"', "false"),
    "explorable loses touch": (touch, "touch-action: none; ", ""),
    "too small for a finger": (phone, "min-height: 40px; min-width: 40px; }", "}"),
    "plane and control not together": (phone, "position: sticky; top: var(--pst-header-height, 0px);", ""),
    "certificate not in sight": (phone, "`Certified: ", "`"),
}  # fmt: skip
"""By kind: the part that notices, and what is replaced in the figure by what."""


async def self_test(page: Any) -> list[str]:
    """Kinds of faults that were planted and not noticed, or seen where none was planted."""
    from replication.interactive import figure_html, page_data

    head = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>t</title>'
    whole = head + "<article>" + figure_html(page_data(1)) + '<p style="height:900px">end</p>'
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "figure.html"
        for kind, (part, old, new) in {"": (None, "", ""), **FAULTS}.items():
            if old not in whole:
                missed.append(f"{kind} (nothing to break)")
                continue
            path.write_text(whole.replace(old, new) if old else whole, encoding="utf-8")
            await page.resize(*DESK)
            await page.visit(path.as_uri())
            found = await check_explorable(page, (part,) if part else PARTS)
            if kind and kind not in {name for name, _ in found}:
                missed.append(kind)
            if not kind:
                missed += [f"no fault planted: {problem}" for problem in found]
    return missed
