// The interactive figure: lp-SVDD of points in the plane, solved anew (svdd.js) at every change of
// p, c, the kernel's width or the points. Nothing is fetched; it works from a file.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg", SIZE = 1000, GRID = 90, TOL = 1e-6;

  function draw(name, attributes, parent) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    parent.append(node);
    return node;
  }
  function make(name, attributes, parent) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key in node && key !== "list") node[key] = value; else node.setAttribute(key, value);
    }
    parent.append(node);
    return node;
  }
  const fraction = (p) => {
    for (let below = 1; below <= 31; below++) {
      const above = Math.round(p * below);
      if (Math.abs(above / below - p) < 1e-9) return below === 1 ? `${above}` : `${above}/${below}`;
    }
    return p.toPrecision(3);
  };
  const minus = (text) => text.replace("-", "\u2212");

  // Where a level crosses the cells of a grid: segments of a path, linearly interpolated.
  function contour(values, level, place) {
    let path = "";
    for (let row = 0; row + 1 < GRID; row++) {
      for (let column = 0; column + 1 < GRID; column++) {
        const at = row * GRID + column;
        const corners = [[column, row, values[at]], [column + 1, row, values[at + 1]],
          [column + 1, row + 1, values[at + GRID + 1]], [column, row + 1, values[at + GRID]]];
        const cuts = [];
        for (let k = 0; k < 4; k++) {
          const [x, y, v] = corners[k], [X, Y, V] = corners[(k + 1) % 4];
          if ((v < level) !== (V < level)) {
            const t = (level - v) / (V - v);
            cuts.push(place(x + t * (X - x), y + t * (Y - y)));
          }
        }
        for (let k = 0; k + 1 < cuts.length; k += 2) path += `M${cuts[k]}L${cuts[k + 1]}`;
      }
    }
    return path;
  }

  class Figure {
    constructor(figure) {
      this.data = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
      this.figure = figure;
      this.build();
      this.load(Object.keys(this.data.sets)[0]);
      new MutationObserver(() => this.show()).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
      // For the browser check: what the package found, and what this page finds now.
      figure.lpsvdd = { data: this.data, state: () => this.state(), solve: globalThis.lpsvdd.solve };
    }

    build() {
      const { figure, data } = this;
      const stage = make("div", { className: "stage" }, figure);
      const plane = make("div", { className: "plane" }, stage);
      this.canvas = make("canvas", { width: GRID, height: GRID }, plane);
      this.canvas.setAttribute("aria-hidden", "true");
      this.svg = draw("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, tabindex: 0, role: "application",
        "aria-label": "Points in the plane and the boundary of the ball. Brackets choose a point, arrow keys move it, plus adds one, Delete removes it." }, plane);
      this.levels = draw("path", { class: "level" }, this.svg);
      this.border = draw("path", { class: "border" }, this.svg);
      this.dots = draw("g", {}, this.svg);
      const side = make("div", { className: "side" }, stage);
      this.price = draw("svg", { viewBox: "0 0 400 230", role: "img" }, side);
      this.map = draw("svg", { viewBox: "0 0 400 300", role: "img", class: "map" }, side);
      this.sliders = make("div", { className: "controls" }, figure);
      this.p = this.slider("p", "exponent p", data.ps, data.start[0], fraction);
      this.c = this.slider("c", "cost c", data.cs, data.start[1], (c) => `${c}`);
      this.width = this.slider("width", "kernel width", data.widths, data.start[2], (w) => `× ${fraction(w)}`);
      const bar = make("div", { className: "bar" }, figure);
      for (const [name, cell] of Object.entries(data.presets)) {
        make("button", { type: "button", textContent: name, onclick: () => this.choose(...cell) }, bar);
      }
      const tools = make("div", { className: "bar" }, figure);
      const label = make("label", { textContent: "points: " }, tools);
      this.chooser = make("select", {}, label);
      for (const name of Object.keys(data.sets)) make("option", { value: name, textContent: name }, this.chooser);
      this.chooser.addEventListener("change", () => this.load(this.chooser.value));
      make("button", { type: "button", textContent: "add a point", onclick: () => this.add() }, tools);
      make("button", { type: "button", textContent: "remove the chosen point", onclick: () => this.remove() }, tools);
      make("button", { type: "button", textContent: "start again", onclick: () => this.load(this.chooser.value) }, tools);
      this.summary = make("p", { className: "summary" }, figure);
      this.summary.setAttribute("aria-live", "polite");
      make("p", { className: "legend", innerHTML:
        '<span class="key inside"></span> inside <span class="key surface"></span> on the boundary ' +
        '<span class="key outside"></span> outside; size grows with the multiplier α. ' +
        "Shade: the score, stronger is more normal. Thick line: the boundary of the ball. " +
        "Drag a point, double-click to add one." }, figure);
      this.listen();
    }

    slider(name, meaning, values, start, show) {
      const id = `boundary-${name}`;
      make("label", { htmlFor: id, textContent: meaning }, this.sliders);
      const input = make("input", { id, type: "range", min: 0, max: values.length - 1, step: 1, value: start }, this.sliders);
      const output = make("output", {}, this.sliders);
      output.htmlFor = id;
      input.show = () => {
        output.textContent = show(values[input.value]);
        input.setAttribute("aria-valuetext", `${name} = ${output.textContent}`);
      };
      input.addEventListener("input", () => { input.show(); this.solve(name === "width"); });
      input.show();
      return input;
    }

    listen() {
      const { svg } = this;
      const at = (event) => {
        const box = svg.getBoundingClientRect();
        return this.toData((event.clientX - box.left) / box.width * SIZE, (event.clientY - box.top) / box.height * SIZE);
      };
      svg.addEventListener("pointerdown", (event) => {
        const index = event.target.dataset?.index;
        if (index === undefined) return;
        this.chosen = Number(index);
        if (event.shiftKey) { this.remove(); return; }
        svg.setPointerCapture(event.pointerId);
        this.dragging = true;
        event.preventDefault();
      });
      svg.addEventListener("pointermove", (event) => {
        if (!this.dragging) return;
        this.points[this.chosen] = at(event);
        this.solve(false);
      });
      const stop = () => { if (this.dragging) { this.dragging = false; this.solve(true); } };
      svg.addEventListener("pointerup", stop);
      svg.addEventListener("pointercancel", stop);
      svg.addEventListener("dblclick", (event) => { event.preventDefault(); this.add(at(event)); });
      svg.addEventListener("keydown", (event) => {
        const step = (this.high[0] - this.low[0]) / (event.shiftKey ? 100 : 25);
        const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
        const n = this.points.length;
        if (event.key in moves) {
          const [dx, dy] = moves[event.key], [x, y] = this.points[this.chosen];
          this.points[this.chosen] = this.within([x + dx, y + dy]);
          this.solve(true);
        } else if (event.key === "]") { this.chosen = (this.chosen + 1) % n; this.show(); }
        else if (event.key === "[") { this.chosen = (this.chosen + n - 1) % n; this.show(); }
        else if (event.key === "Delete" || event.key === "Backspace") this.remove();
        else if (event.key === "+") this.add();
        else return;
        event.preventDefault();
      });
      this.map.addEventListener("click", (event) => {
        const cell = event.target.dataset?.cell;
        if (cell !== undefined) this.choose(this.data.ps[Math.floor(cell / this.data.cs.length)], this.data.cs[cell % this.data.cs.length]);
      });
    }

    load(name) {
      this.points = this.data.sets[name].map((point) => [...point]);
      const xs = this.points.map(([x]) => x), ys = this.points.map(([, y]) => y);
      const middle = [(Math.min(...xs) + Math.max(...xs)) / 2, (Math.min(...ys) + Math.max(...ys)) / 2];
      const half = 0.62 * Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys));
      this.low = middle.map((m) => m - half);
      this.high = middle.map((m) => m + half);
      this.gamma = globalThis.lpsvdd.halfMeanDistanceGamma(this.points);
      this.chosen = 0;
      this.solve(true);
    }

    // The nearest of the sliders' values.
    choose(p, c) {
      const nearest = (values, value) => values.reduce((best, v, i) => (Math.abs(Math.log(v / value)) < Math.abs(Math.log(values[best] / value)) ? i : best), 0);
      this.p.value = nearest(this.data.ps, p);
      this.c.value = nearest(this.data.cs, c);
      this.p.show(); this.c.show();
      this.solve(false);
    }

    within = (point) => point.map((value, k) => Math.min(Math.max(value, this.low[k]), this.high[k]));
    toData(x, y) {
      return this.within([this.low[0] + x / SIZE * (this.high[0] - this.low[0]), this.high[1] - y / SIZE * (this.high[1] - this.low[1])]);
    }
    toPage([x, y]) {
      return [(x - this.low[0]) / (this.high[0] - this.low[0]) * SIZE, (this.high[1] - y) / (this.high[1] - this.low[1]) * SIZE];
    }

    add(point) {
      if (this.points.length >= 150) return;
      const [x, y] = this.points[this.chosen], step = (this.high[0] - this.low[0]) / 20;
      this.points.push(point ?? this.within([x + step, y + step]));
      this.chosen = this.points.length - 1;
      this.solve(true);
    }
    remove() {
      if (this.points.length <= 3) return;
      this.points.splice(this.chosen, 1);
      this.chosen = Math.min(this.chosen, this.points.length - 1);
      this.solve(true);
    }

    options(p = this.data.ps[this.p.value], c = this.data.cs[this.c.value]) {
      return { p, c, gamma: this.gamma / this.data.widths[this.width.value] ** 2 };
    }

    solve(isMapStale) {
      this.found = globalThis.lpsvdd.solve(this.points, this.options());
      if (isMapStale) { this.cells = []; this.fillMap(); }
      this.show();
    }

    // Every point is inside, on the boundary or outside; one tolerance decides.
    sides(found) {
      return [...found.distances].map((d) => {
        const signed = (d - found.radiusSq) / Math.max(1, Math.abs(found.radiusSq));
        return signed > TOL ? "outside" : signed < -TOL ? "inside" : "surface";
      });
    }

    state() {
      const sides = this.sides(this.found), count = (side) => sides.filter((s) => s === side).length;
      return { n: this.points.length, inside: count("inside"), surface: count("surface"), outside: count("outside"),
        support: [...this.found.alpha].filter((a) => a > 0).length, radiusSq: this.found.radiusSq, gap: this.found.gap,
        converged: this.found.converged, p: this.options().p, c: this.options().c };
    }

    // The whole grid over (p, c), a few cells at a time so that the page stays alive.
    fillMap() {
      const turn = this.turn = (this.turn ?? 0) + 1, { ps, cs } = this.data;
      const work = () => {
        if (turn !== this.turn) return;
        const until = performance.now() + 12;
        while (this.cells.length < ps.length * cs.length && performance.now() < until) {
          const k = this.cells.length;
          const found = globalThis.lpsvdd.solve(this.points, this.options(ps[Math.floor(k / cs.length)], cs[k % cs.length]));
          const share = this.sides(found).filter((s) => s === "outside").length / this.points.length;
          this.cells.push({ share, regime: found.radiusSq <= 0 ? "R² ≤ 0" : share === 0 ? "hard ball" : "soft ball" });
        }
        this.showMap();
        if (this.cells.length < ps.length * cs.length) setTimeout(work, 0);
      };
      setTimeout(work, 0);
    }

    show() {
      this.showPlane();
      this.showPrice();
      this.showMap();
      const now = this.state(), { p } = now;
      this.summary.textContent = minus(
        `${now.inside} inside + ${now.surface} on the boundary + ${now.outside} outside = ${now.n} points. ` +
        `${now.support} support vectors. R² = ${now.radiusSq.toPrecision(3)}. ` +
        (now.converged ? `Certified: relative duality gap ${Math.max(now.gap, 0).toExponential(0)}.` : "Not certified.") +
        (now.radiusSq <= 0 ? " R² ≤ 0: no point is inside; the scores still rank." : ""));
      this.svg.dataset.p = p;
    }

    showPlane() {
      const { low, high, found } = this;
      const axis = (k) => Array.from({ length: GRID }, (_, i) => low[k] + (i / (GRID - 1)) * (high[k] - low[k]));
      const ys = axis(1).reverse();
      const values = globalThis.lpsvdd.distanceGrid(this.points, found, this.options().gamma, axis(0), ys);
      const least = Math.min(...values), most = Math.max(...values), span = most - least || 1;
      const style = getComputedStyle(this.figure), colour = style.getPropertyValue("--shade").trim().split(/\s*,\s*/).map(Number);
      const context = this.canvas.getContext("2d"), image = context.createImageData(GRID, GRID);
      for (let i = 0; i < values.length; i++) {
        const strength = 1 - (values[i] - least) / span;
        image.data.set([...colour, Math.round(150 * strength)], 4 * i);
      }
      context.putImageData(image, 0, 0);
      const place = (column, row) => `${(column / (GRID - 1) * SIZE).toFixed(1)} ${(row / (GRID - 1) * SIZE).toFixed(1)}`;
      this.levels.setAttribute("d", [1, 2, 3, 4, 5].map((k) => contour(values, least + k / 6 * span, place)).join(""));
      this.border.setAttribute("d", contour(values, found.radiusSq, place));
      const sides = this.sides(found), largest = Math.max(...found.alpha);
      this.dots.replaceChildren();
      this.points.forEach((point, i) => {
        const [cx, cy] = this.toPage(point);
        const r = 9 + 11 * Math.sqrt(Math.max(found.alpha[i], 0) / largest);
        draw("circle", { cx, cy, r, class: `point ${sides[i]}${i === this.chosen ? " chosen" : ""}`, "data-index": i }, this.dots);
      });
    }

    showPrice() {
      const { price } = this, { p, c } = this.options(), left = 46, bottom = 190, width = 330, height = 150;
      const slacks = [...this.found.distances].map((d) => Math.max(d - this.found.radiusSq, 0));
      const reach = Math.max(1.05 * Math.max(...slacks), 0.1), top = Math.max(reach, reach ** Math.min(p, 3));
      const x = (z) => left + z / reach * width, y = (v) => bottom - Math.min(v / top, 1.02) * height;
      const curve = (q) => Array.from({ length: 80 }, (_, i) => { const z = i / 79 * reach; return `${x(z).toFixed(1)} ${y(z ** q).toFixed(1)}`; });
      price.replaceChildren();
      draw("title", {}, price).textContent = `Price of a slack at p = ${fraction(p)}: slack to the power p, beside p = 1.`;
      draw("text", { x: 8, y: 22, class: "head" }, price).textContent = "The price of a slack";
      draw("path", { d: `M${left} ${bottom - height}V${bottom}H${left + width}`, class: "axis" }, price);
      draw("path", { d: `M${curve(1).join("L")}`, class: "one" }, price);
      draw("path", { d: `M${curve(p).join("L")}`, class: "power" }, price);
      for (const z of slacks) if (z > 0) draw("path", { d: `M${x(z).toFixed(1)} ${bottom}v-10`, class: "tick" }, price);
      draw("text", { x: left + width, y: bottom + 26, "text-anchor": "end" }, price).textContent = `slack ζ (ticks: now)`;
      draw("text", { x: left, y: bottom + 26 }, price).textContent = "0";
      draw("text", { x: left + 10, y: 46, class: "power-text" }, price).textContent = p === 1 ? "ζ (p = 1)" : `ζ to the power ${fraction(p)}`;
      if (p !== 1) draw("text", { x: left + 10, y: 66, class: "one-text" }, price).textContent = "ζ (p = 1)";
    }

    showMap() {
      const { map, data } = this, { ps, cs } = data, left = 60, top = 34, width = 330, height = 210;
      const w = width / cs.length, h = height / ps.length, now = Number(this.p.value) * cs.length + Number(this.c.value);
      map.replaceChildren();
      draw("title", {}, map).textContent = "Share of points outside over exponent p and cost c; the present cell is framed.";
      draw("text", { x: 8, y: 22, class: "head" }, map).textContent = "Share outside, over p and c";
      const centres = {};
      (this.cells ?? []).forEach(({ share, regime }, k) => {
        const row = Math.floor(k / cs.length), column = k % cs.length, x = left + column * w, y = top + row * h;
        const cell = draw("rect", { x, y, width: w - 1, height: h - 1, class: `cell ${regime === "R² ≤ 0" ? "none" : ""}`, "data-cell": k }, map);
        if (regime !== "R² ≤ 0") cell.style.fillOpacity = (0.05 + 0.8 * share).toFixed(2);
        (centres[regime] ??= []).push([x + w / 2, y + h / 2]);
      });
      for (const [regime, places] of Object.entries(centres)) {
        if (places.length < 6) continue;
        const mean = (k) => places.reduce((sum, place) => sum + place[k], 0) / places.length;
        const half = 4.2 * regime.length;
        draw("text", { x: Math.min(Math.max(mean(0), left + half), left + width - half), y: mean(1) + 5, "text-anchor": "middle", class: "regime" }, map).textContent = regime;
      }
      draw("rect", { x: left + (now % cs.length) * w - 1, y: top + Math.floor(now / cs.length) * h - 1, width: w + 1, height: h + 1, class: "now" }, map);
      [0, ps.length - 1].forEach((row) => { draw("text", { x: left - 6, y: top + row * h + h / 2 + 5, "text-anchor": "end" }, map).textContent = fraction(ps[row]); });
      [0, cs.length - 1].forEach((column) => { draw("text", { x: left + column * w + w / 2, y: top + height + 18, "text-anchor": column ? "end" : "start" }, map).textContent = `${cs[column]}`; });
      draw("text", { x: left + width / 2, y: top + height + 18, "text-anchor": "middle" }, map).textContent = "cost c";
      draw("text", { x: left - 6, y: top + height / 2, "text-anchor": "end" }, map).textContent = "p";
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("figure.boundary").forEach((figure) => new Figure(figure));
  });
})();
