// The interactive figures of a page: returns a list of [kind, detail] problems.
(async () => {
  const problems = [];
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  for (const figure of document.querySelectorAll("figure.boundary")) {
    const report = (kind, detail) => problems.push([kind, detail]);
    const inner = figure.lpsvdd;
    if (!inner) { report("widget did not start", figure.outerHTML.slice(0, 80)); continue; }
    const state = () => inner.state();
    const input = (id) => figure.querySelector(`#boundary-${id}`);
    const move = (id, value) => { input(id).value = value; input(id).dispatchEvent(new Event("input")); };

    // Its answers are those of the package.
    const points = Object.values(inner.data.sets)[0], gamma = globalThis.lpsvdd.halfMeanDistanceGamma(points);
    for (const cell of inner.data.checks) {
      const found = inner.solve(points, { p: cell.p, c: cell.c, gamma });
      const apart = Math.max(...cell.alpha.map((value, i) => Math.abs(value - found.alpha[i])));
      if (!found.converged || Math.abs(found.radiusSq - cell.radius_sq) > 1e-4 * Math.max(1, Math.abs(cell.radius_sq)) || apart > 1e-3) {
        report("widget disagrees with the package", `p = ${cell.p}, c = ${cell.c}: R2 ${found.radiusSq} and ${cell.radius_sq}, alpha apart ${apart}`);
      }
    }
    // Counts add up at every position, and every answer is certified.
    for (let i = 0; i < inner.data.ps.length; i++) {
      for (let j = 0; j < inner.data.cs.length; j += 2) {
        move("p", i); move("c", j);
        const now = state();
        const wrong = now.inside + now.surface + now.outside !== now.n || now.support < now.outside || now.support > now.outside + now.surface;
        if (wrong || !now.converged) report(wrong ? "widget counts do not add up" : "widget not certified", JSON.stringify(now));
      }
    }
    // Keys and touch change the points.
    const svg = figure.querySelector(".plane svg");
    const place = (k) => { const dot = svg.querySelector(`[data-index="${k}"]`); return dot && `${dot.getAttribute("cx")} ${dot.getAttribute("cy")}`; };
    svg.focus();
    const before = place(0);
    svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    if (place(0) === before) report("widget ignores keys", "ArrowRight moved nothing");
    const count = state().n;
    svg.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true }));
    if (state().n !== count + 1) report("widget ignores keys", "+ added nothing");
    const dot = svg.querySelector('[data-index="1"]'), box = dot.getBoundingClientRect();
    const at = { bubbles: true, pointerId: 1, pointerType: "touch", clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 };
    svg.setPointerCapture = () => {}; // no real finger to capture
    const start = place(1);
    dot.dispatchEvent(new PointerEvent("pointerdown", at));
    svg.dispatchEvent(new PointerEvent("pointermove", { ...at, clientX: at.clientX + 40 }));
    svg.dispatchEvent(new PointerEvent("pointerup", at));
    if (place(1) === start) report("widget ignores touch", "a point could not be dragged");
    await wait(50);
  }
  return problems;
})()
