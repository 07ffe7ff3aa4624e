# ruff: noqa: E501  (lines of JavaScript that run in the page)
"""The interactive figure in a real browser: its answers are the package's, and hands reach it.

``check_explorable`` looks at the page that is open; ``self_test`` plants one fault of each kind in
the figure and asks that it is noticed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from lpsvdd import LpSVDD, solve
from lpsvdd.explain import explain
from lpsvdd.kernels import half_mean_distance, kernel_matrix, rbf_gamma
from replication.interactive import figure_html, page_data
from replication.share import solve_share

Problem = tuple[str, str]
FIGURE = "document.querySelector('figure.explorable')"
PHONE, DESK = (360, 740), (1280, 900)
FINGER = 40.0
"""CSS px that a finger needs."""
DONE = f"!{FIGURE}.innerText.match(/Solving every|Looking for/)"
ANSWER = """(f) => { const { model: m, state, plane, gammaNow } = f.lpsvdd; return {
  points: plane.points, labels: plane.labels, gamma: gammaNow, p: m.p, c: m.c, alpha: [...m.alpha],
  radius: m.radiusSq, gap: m.gap, converged: m.converged, tilt: m.tilt, state, reached: m.reached,
  counts: [m.inside, m.surface, m.outside, m.support, m.n] }; }"""
BALLS: list[dict] = [
    {"kernel": "linear", "hard": True},
    *({"kernel": "linear", "p": p, "share": 0.1} for p in (1.0, 2.0, 5.0)),
    *({"p": p, "share": s, "width": 2} for p in (1.0, 1.2, 2.0, 5.0, 20.0) for s in (0.1, 0.5)),
    *({"p": p, "c": c, "locked": False} for p in (1.0, 1.2, 5.0) for c in (0.005, 0.1, 1.0)),
]
BAD_FILES = {
    "": "empty",
    "a,b\n" + "1,2\n" * 20 + "1,n/a\n": "line 22, column “b”: “n/a” is not a number",
    "a,b\n" + "1,2\n" * 20 + "1\n": "line 22 has 1 cells",
}


async def do(page: Any, script: str, argument: Any = None) -> Any:
    """Evaluate a function of the figure."""
    return await page.tab.evaluate(f"(argument) => ({script})({FIGURE}, argument)", argument)


async def settle(page: Any) -> None:
    await asyncio.sleep(0.1)
    await page.tab.wait_for_function(DONE, timeout=60_000)


async def enter(page: Any, step: str) -> None:
    """Open a step and wait until all of it is computed."""
    await do(page, "(f, step) => { f.querySelector(`#tab-${step}`).click(); }", step)
    await settle(page)


def against_package(found: dict) -> Iterator[str]:
    """What differs between the browser's ball and the package's."""
    X, alpha = np.array(found["points"]), np.array(found["alpha"])
    linear = found["gamma"] == "linear"
    K = kernel_matrix(X, kernel="linear") if linear else kernel_matrix(X, gamma=found["gamma"])
    if found["p"] == 1 and found["c"] * len(X) <= 1:  # no solution; both take the mean
        if not np.allclose(alpha, 1 / len(X)):
            yield "not the mean"
        return
    there = solve(K, p=found["p"], c=found["c"])
    step, unit = alpha - there.alpha, float(np.trace(K) / len(K) - K.mean())
    apart = {
        "centre": float(np.sqrt(max(step @ K @ step, 0.0) / unit)),
        "R2": abs(found["radius"] - there.radius_sq) / (unit + abs(there.radius_sq)),
        "tilt": 0.0 if linear else abs(found["tilt"] - there.tilt) / (1.0 + there.tilt),
    }
    if found["state"]["locked"] and not found["state"]["hard"] and found["p"] > 1:
        share = found["state"]["share"]
        if solve_share(K, p=found["p"], nu=share).reached:
            # Up to one sample: near p = 1 slacks of rounding size decide who is outside.
            apart["share"] = max(abs(found["counts"][2] - share * len(X)) - 1, 0)
    yield from (f"{name} by {value:.1e}" for name, value in apart.items() if value > 1e-3)


async def balls(page: Any) -> list[Problem]:
    """Balls of several settings: the package's, certified, with counts that add up."""
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
        for differs in against_package(found):
            problems.append(("explorable disagrees with the package", f"{changes}: {differs}"))
    return problems


async def outliers(page: Any) -> list[Problem]:
    """Balls with labelled outliers are the package's; one is added by a key and by a click."""
    problems = []
    await enter(page, "outliers")
    for p, c in ((1.0, 0.1), (1.2, 1.0), (2.0, 20.0), (5.0, 100.0)):
        changes = {"p": p, "c": c, "width": 2}
        found = await do(page, f"(f, s) => {{ f.lpsvdd.set(s); return ({ANSWER})(f); }}", changes)
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
    if (added := await do(page, count) - before) != 2:
        problems.append(("labelled outliers are not added", f"{added} of 2"))
    return problems


async def exponent(page: Any) -> list[Problem]:
    """Nine balls in one click; a panel opens its exponent; controls in the text; the address."""
    problems = []
    await enter(page, "exponent")
    await page.tab.get_by_role("button", name="the paper's nine exponents").click()
    ps = await do(page, "(f) => f.lpsvdd.nine?.map(({ model }) => model.converged && model.p)")
    if ps != await do(page, "(f) => f.lpsvdd.data.nine"):
        problems.append(("nine exponents are not shown", str(ps)))
    await page.tab.locator(".plane svg").click(position={"x": 5, "y": 5})
    state = "(f) => [f.lpsvdd.state.p, f.lpsvdd.step, Boolean(f.lpsvdd.nine)]"
    if await do(page, state) != [1, "exponent", False]:
        problems.append(("nine exponents are not shown", "a click opens no panel"))
    await page.tab.get_by_role("button", name="20", exact=True).click()
    await settle(page)
    if (found := await do(page, ANSWER))["p"] != 20:
        problems.append(("control in the text fails", f"p {found['p']}, {found['counts']}"))
    address = await page.evaluate("location.hash")
    await enter(page, "ball")
    await page.evaluate(f"location.hash = {address!r}")
    await settle(page)
    if (await do(page, state))[:2] != [20, "exponent"]:
        problems.append(("the address does not lead back", address))
    return problems


async def table(page: Any) -> list[Problem]:
    """Scores and reasons of the example are the package's; bad files are refused in words."""
    problems = []
    await enter(page, "own")
    await do(page, "(f) => { f.querySelector('[data-do=example]').click(); }")
    found = await do(
        page,
        """(f) => { const { table } = f.lpsvdd, { model, points, gamma, scores } = table.found;
      return { rows: table.rows, c: model.c, scores: [...scores],
        reasons: globalThis.lpsvdd.contributions(points, model.alpha, gamma, table.Z.slice(0, 5)).map((row) => [...row]) }; }""",
    )
    Z = StandardScaler().fit_transform(np.array(found["rows"]))
    model = LpSVDD(p=2.0, C=found["c"], gamma=rbf_gamma(half_mean_distance(Z))).fit(Z)
    scores, reasons = model.score_samples(Z), explain(model, Z[:5]).contributions
    if not np.allclose(scores, found["scores"], rtol=0, atol=1e-4):
        problems.append(("own table disagrees with the package", "scores"))
    if not np.allclose(reasons, found["reasons"], rtol=0, atol=1e-4):
        problems.append(("own table disagrees with the package", "reasons"))
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
    """Points, steps and sliders can be reached and moved without a mouse."""
    problems = []
    await enter(page, "ball")
    state = """(f) => { const { plane, state, step } = f.lpsvdd; return { step, n: plane.points.length,
      at: plane.chosen, x: plane.points[plane.chosen][0], p: state.p, share: state.share }; }"""
    for focus, key, name, wanted in (
        (".plane svg", "]", "at", 1),
        (".plane svg", "ArrowRight", "x", 1),
        (".plane svg", "+", "n", 1),
        (".plane svg", "Delete", "n", -1),
        ("#tab-ball", "ArrowRight", "step", "slack"),
        ("#explorable-p", "ArrowRight", "p", 1),
        ("#explorable-share", "ArrowRight", "share", 1),
    ):
        before = await do(page, state)
        await do(page, "(f, focus) => f.querySelector(focus).focus()", focus)
        await page.press(key)
        after = await do(page, state)
        is_text = isinstance(wanted, str)
        if wanted != (after[name] if is_text else np.sign(after[name] - before[name])):
            problems.append(("explorable ignores keys", f"{focus} {key}: {name} is {after[name]}"))
    return problems


async def touch(page: Any) -> list[Problem]:
    """A finger drags a point, the page stays, and the answer is that of the new points."""
    problems = []
    await page.resize(*PHONE)
    session = await page.tab.context.new_cdp_session(page.tab)
    await session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

    async def finger(kind: str, **place: float) -> None:
        await session.send(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": [place] if place else []}
        )
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
    await finger("touchStart", x=x + 6, y=y + 6)  # beside the dot: a finger is thick
    for k in range(1, 9):
        await finger("touchMove", x=x + 6 + 2 * k, y=y + 6 + inward * 5 * k)
    await finger("touchEnd")
    await settle(page)
    new_x, new_y, now = await do(page, place)
    if np.hypot(new_x - x - 22, new_y - y - 6 - 40 * inward) > 12 or now != scrolled:
        moved = f"by ({new_x - x:.0f}, {new_y - y:.0f}), page by {now - scrolled:.0f}"
        problems.append(("explorable loses touch", moved))
    for differs in against_package(await do(page, ANSWER)):
        problems.append(("explorable disagrees with the package", f"after a drag: {differs}"))
    await session.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
    return problems


LAYOUT = """(f, finger) => {
  const problems = [], plane = f.querySelector('.plane'), certificate = f.querySelector('.certificate');
  for (const node of f.querySelectorAll('button, select, input[type=range], .lock, .file')) {
    if (!node.getClientRects().length) continue;
    const name = `${f.lpsvdd.step}: ${node.textContent || node.id}`, size = node.getBoundingClientRect();
    if (Math.min(size.height, size.width) < finger - 0.5) problems.push(['too small for a finger', name]);
    if (!node.matches('.controls input, .tools button, section[data-step] button')) continue;
    node.scrollIntoView({ block: 'end', behavior: 'instant' }); scrollBy({ top: 8, behavior: 'instant' });
    const box = node.getBoundingClientRect(), seen = plane.getBoundingClientRect(), says = certificate.getBoundingClientRect();
    if (seen.top < -1 || seen.bottom > innerHeight || box.bottom > innerHeight + 1 || (box.top < says.bottom && box.bottom > seen.top))
      problems.push(['plane and control not together', `${name}, plane ${seen.top.toFixed(0)} to ${seen.bottom.toFixed(0)}, control at ${box.top.toFixed(0)}`]);
    if (!/Certified/.test(certificate.textContent) || says.bottom > innerHeight) problems.push(['certificate not in sight', name]);
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


PARTS = (balls, outliers, exponent, table, keys, touch, phone)
FAULTS = (
    ("explorable not certified", balls, "iteration <= 80", "iteration <= 3"),
    ("explorable counts do not add up", balls, 'inside: count("inside")', 'inside: 1 + count("inside")'),
    ("explorable disagrees with the package", balls, "residual[i] = y[i] * (k[i] * inv", "residual[i] = y[i] * (inv"),
    ("labelled outliers disagree", outliers, "y[i] * (k[i] * inv - b)", "k[i] * inv - b"),
    ("labelled outliers are not added", outliers, 'event.key === "-"', "false"),
    ("nine exponents are not shown", exponent, "this.plane.picked = (k)", "this.plane.other = (k)"),
    ("the address does not lead back", exponent, 'addEventListener("hashchange"', 'addEventListener("none"'),
    ("control in the text fails", exponent, "if (button?.dataset.set)", "if (false)"),
    ("own table disagrees with the package", table, "2 * value - constant[j]", "value - constant[j]"),
    ("bad file not explained", table, "if (uneven) throw", "if (false) throw"),
    ("explorable ignores keys", keys, 'event.key === "+"', "false"),
    ("explorable loses touch", touch, "touch-action: none; ", ""),
    ("too small for a finger", phone, "min-height: 40px; min-width: 40px; }", "}"),
    ("plane and control not together", phone, "position: sticky; top: var(--pst-header-height, 0px);", ""),
    ("certificate not in sight", phone, "`Certified: ", "`"),
)  # fmt: skip
"""Kinds of faults, the part that notices, and what is replaced in the figure by what."""


async def check_explorable(page: Any, parts=PARTS) -> list[Problem]:
    """Problems of the explorable of the page that is open, none where there is none."""
    if not await page.evaluate(f"Boolean({FIGURE})"):
        return []
    if not await page.evaluate(f"Boolean({FIGURE}.lpsvdd)"):
        return [("explorable did not start", "no state")]
    return [problem for part in parts for problem in await part(page)]


async def self_test(page: Any, folder: Path) -> list[str]:
    """Kinds of faults that were planted in the figure alone and not noticed."""
    head = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>t</title>'
    whole = head + "<article>" + figure_html(page_data(1)) + '<p style="height:900px">end</p>'
    missed, path = [], folder / "figure.html"
    for kind, part, old, new in FAULTS:
        path.write_text(whole.replace(old, new), encoding="utf-8")
        await page.resize(*DESK)
        await page.visit(path.as_uri())
        if old not in whole or kind not in dict(await check_explorable(page, (part,))):
            missed.append(kind)
    return missed
