// Two small drawings beside the plane: the way from kernel mean to hard ball with models on it, and the AUC of cells
// along that way.
(() => {
  "use strict";
  const { draw } = globalThis.lpsvdd, WIDTH = 400, LEFT = 44, RIGHT = 388;
  // Place of a tilt between 0 (kernel mean) and that of the hard ball: root of the share, as in the chapter "Why".
  const way = (tilt, hard) => LEFT + (RIGHT - LEFT) * Math.sqrt(Math.min(Math.max(tilt / (hard || 1), 0), 1));

  function axis(svg, y) {
    draw("path", { d: `M${LEFT} ${y}H${RIGHT}`, class: "axis" }, svg);
    draw("text", { x: LEFT - 34, y: y + 24 }, svg).textContent = "kernel mean";
    draw("text", { x: RIGHT, y: y + 24, "text-anchor": "end" }, svg).textContent = "hard ball";
  }

  function showTilt(svg, { model, ghost, hard }) {
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${WIDTH} 84`);
    svg.setAttribute("aria-label", `Tilt ${model.tilt.toFixed(2)}, between 0 at the kernel mean and ${hard.tilt.toFixed(2)} at the hard ball.`);
    axis(svg, 46);
    draw("text", { x: (LEFT + RIGHT) / 2, y: 70, "text-anchor": "middle" }, svg).textContent = "tilt";
    if (ghost) draw("circle", { cx: way(ghost.tilt, hard.tilt), cy: 46, r: 8, class: "mark one open" }, svg);
    const x = way(model.tilt, hard.tilt);
    draw("circle", { cx: x, cy: 46, r: 6, class: "mark now" }, svg);
    draw("text", { x: Math.min(Math.max(x, 60), 340), y: 28, "text-anchor": "middle", class: "head" }, svg).textContent = `tilt ${model.tilt.toFixed(2)}`;
  }

  // `families`: { one, lp }, lists of judged cells; `shown`: the cell whose ball is in the plane.
  function showCells(svg, { families, best, hard, shown }) {
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${WIDTH} 236`);
    const all = [...families.one, ...families.lp].map((cell) => cell.test);
    const low = Math.min(90, 5 * Math.floor(Math.min(...all) / 5)), y = (value) => 190 - 160 * (value - low) / (100 - low);
    axis(svg, 190);
    draw("path", { d: `M${LEFT} 30V190`, class: "axis" }, svg);
    for (const value of [low, (low + 100) / 2, 100]) draw("text", { x: LEFT - 6, y: y(value) + 5, "text-anchor": "end" }, svg).textContent = `${value}`;
    draw("text", { x: 4, y: 16 }, svg).textContent = "AUC on the other half, per cell";
    for (const name of ["lp", "one"]) {
      families[name].forEach((cell) => {
        const mark = draw("circle", { cx: way(cell.tilt, hard.tilt), cy: y(cell.test), r: name === "one" ? 6 : 4, class: `mark ${name}`,
          "data-p": cell.p, "data-c": cell.c }, svg);
        draw("title", {}, mark).textContent = `p = ${cell.p.toPrecision(3)}, c = ${cell.c.toPrecision(2)}: AUC ${cell.test.toFixed(1)}`;
      });
    }
    for (const name of ["lp", "one"]) {
      if (best[name]) draw("circle", { cx: way(best[name].tilt, hard.tilt), cy: y(best[name].test), r: 11, class: `ring ${name}` }, svg);
    }
    if (shown) draw("path", { d: `M${way(shown.tilt, hard.tilt)} 190v-8`, class: "tick" }, svg);
  }

  Object.assign(globalThis.lpsvdd, { showTilt, showCells });
})();
