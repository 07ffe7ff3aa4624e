// The explorable: steps whose text drives the plane. A button with data-set sets what it says, one with data-do acts.
// Nothing is fetched; it works from a file.
(() => {
  "use strict";
  const { lpsvdd } = globalThis, SLICE = 12, PATIENCE = 40; // ms of work before the page breathes; of rest before the ghost
  const FEW = { "three points: draw your own": [[-1, -1], [1, -1], [0, 1]] };

  function make(name, attributes, parent) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) if (key in node) node[key] = value; else node.setAttribute(key, value);
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
  const minus = (text) => text.replaceAll("-", "\u2212");
  const power = (value) => `10${minus(`${Math.ceil(Math.log10(Math.max(value, 1e-16)))}`).replace(/./g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻")}`;
  const signed = (value) => (Math.abs(value) < 0.05 ? "0.0" : minus(`${value < 0 ? "" : "+"}${value.toFixed(1)}`));

  class Explorable {
    constructor(figure) {
      this.figure = figure;
      this.data = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
      this.sets = { ...this.data.sets, ...FEW };
      this.state = { p: 1, share: 0.1, c: 0.1, width: 1, locked: true, hard: true, kernel: "linear" };
      this.build();
      this.load(Object.keys(this.sets)[0]);
      this.enter("ball");
      this.fromAddress();
      addEventListener("hashchange", () => this.fromAddress());
      new MutationObserver(() => this.plane.show()).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
      figure.lpsvdd = this; // for the browser check
    }

    build() {
      const { figure } = this, find = (name) => figure.querySelector(name);
      this.sections = [...figure.querySelectorAll("section")];
      this.tabs = find(".tabs");
      for (const section of this.sections) {
        const { step, tab } = section.dataset;
        section.id = `step-${step}`;
        const name = this.tabs.childElementCount < 6 ? `${this.tabs.childElementCount + 1} ${tab}` : tab;
        make("button", { type: "button", role: "tab", id: `tab-${step}`, textContent: name, "aria-controls": section.id, onclick: () => { this.enter(step); this.toAddress(); } }, this.tabs);
        section.setAttribute("role", "tabpanel");
        section.setAttribute("aria-labelledby", `tab-${step}`);
      }
      this.tabs.addEventListener("keydown", (event) => {
        const tabs = [...this.tabs.children], to = tabs[tabs.indexOf(event.target) + ({ ArrowRight: 1, ArrowLeft: -1 }[event.key] ?? NaN)];
        if (to) { to.focus(); to.click(); event.preventDefault(); }
      });
      this.plane = new lpsvdd.Plane(find(".pinned"), (isDone) => { this.version = (this.version ?? 0) + 1; this.solve(isDone); });
      this.summary = make("p", { className: "summary", "aria-live": "polite" }, find(".pinned"));
      this.buildControls(find(".controls"), find(".tools"));
      figure.addEventListener("click", (event) => {
        const button = event.target.closest("button[data-set], button[data-do]");
        if (button?.dataset.set) this.set(JSON.parse(button.dataset.set));
        if (button?.dataset.do) this.act(button.dataset.do);
        const mark = event.target.closest(".mark[data-p]");
        if (mark) this.set({ p: Number(mark.dataset.p), c: Number(mark.dataset.c) });
        if (button || mark) this.toAddress();
      });
      this.plane.picked = (k) => this.set({ p: this.data.nine[k] });
      const skip = make("a", { className: "skip-plane", textContent: "Skip to the plane", onclick: (event) => { event.preventDefault(); this.plane.svg.focus(); } }, document.body);
      skip.setAttribute("href", "#explorable-plane");
      document.body.prepend(skip);
      this.table = new lpsvdd.OwnTable(figure, this);
    }

    buildControls(controls, tools) {
      const { ps, cs, widths, shares } = this.data, percent = (v) => `${Math.round(100 * v)} %`;
      this.sliders = {};
      const slider = (name, meaning, values, show) => {
        const row = make("div", { className: "slider" }, controls), id = `explorable-${name}`;
        make("label", { htmlFor: id, textContent: meaning }, row);
        const input = make("input", { id, type: "range", min: 0, max: values.length - 1, step: 1 }, row), output = make("output", { htmlFor: id }, row);
        input.addEventListener("input", () => this.set({ [name]: values[input.value], ...(name === "width" ? { kernel: "gauss" } : {}) }));
        input.addEventListener("change", () => this.toAddress());
        this.sliders[name] = { row, show: (value) => {
          input.value = values.reduce((best, v, i) => (Math.abs(Math.log(v / value)) < Math.abs(Math.log(values[best] / value)) ? i : best), 0);
          output.textContent = show(value);
          input.setAttribute("aria-valuetext", `${meaning} ${output.textContent}`);
        } };
      };
      slider("p", "exponent p", ps, fraction);
      slider("share", "share outside", shares, percent);
      slider("c", "cost c", cs, (c) => `${c}`);
      slider("width", "kernel width", widths, (w) => `× ${fraction(w)}`);
      const lock = make("label", { className: "slider lock" }, controls), box = make("input", { type: "checkbox" }, lock);
      lock.append(" keep the share outside, whatever p is");
      box.addEventListener("change", () => { this.set({ locked: box.checked }); this.toAddress(); });
      this.sliders.lock = { row: lock, show: () => { box.checked = this.state.locked; } };

      this.modes = ["move", "draw", "outlier", "erase"].map((mode) => make("button", { type: "button", textContent: mode, onclick: () => this.use(mode) }, tools));
      this.use = (mode) => { this.plane.mode = mode; this.modes.forEach((button) => button.setAttribute("aria-pressed", button.textContent === mode)); };
      this.use("move");
      const label = make("label", { textContent: "points " }, tools);
      this.chooser = make("select", {}, label);
      for (const name of Object.keys(this.sets)) make("option", { value: name, textContent: name }, this.chooser);
      this.chooser.addEventListener("change", () => { this.load(this.chooser.value); this.use(this.chooser.value in FEW ? "draw" : "move"); this.solve(true); this.toAddress(); });
      make("button", { type: "button", textContent: "start again", onclick: () => this.act("reset") }, tools);
    }

    // Points into the plane, and the kernel's width that belongs to them.
    load(name) {
      const isKnown = name in this.sets;
      if (isKnown) { this.name = name; this.chooser.value = name; }
      const { points, labels } = isKnown ? { points: this.sets[name] } : this.data[name];
      this.put(points, labels);
    }
    put(points, labels) {
      this.plane.load(points, labels);
      this.gamma = lpsvdd.halfMeanDistanceGamma(points);
      this.version = (this.version ?? 0) + 1;
      this.start = null;
    }

    enter(step) {
      const before = this.step, ownPoints = (name) => name && !["outliers", "grid", "own"].includes(name);
      if (ownPoints(before) && !ownPoints(step)) this.kept = this.plane.points;
      this.step = step;
      if (step === "grid" || step === "outliers") this.load(step);
      else if (step === "own") this.table.show();
      else if (!ownPoints(before) && this.kept) this.put(this.kept);
      for (const section of this.sections) section.hidden = section.dataset.step !== step;
      for (const tab of this.tabs.children) {
        const isHere = tab.id === `tab-${step}`;
        tab.setAttribute("aria-selected", isHere);
        tab.tabIndex = isHere ? 0 : -1;
      }
      this.section = this.sections.find((section) => section.dataset.step === step);
      this.chooser.parentElement.hidden = step === "grid" || step === "outliers";
      this.modes[2].hidden = step !== "outliers";
      if (step !== "outliers" && this.plane.mode === "outlier") this.use("move");
      this.set(JSON.parse(this.section.dataset.set), true);
    }

    act(what) {
      const { plane } = this;
      if (what === "pull") {
        const mean = [0, 1].map((k) => plane.points.reduce((sum, x) => sum + x[k], 0) / plane.points.length);
        const far = plane.points.map((x) => Math.hypot(x[0] - mean[0], x[1] - mean[1])), i = far.indexOf(Math.max(...far));
        const way = 0.45 * (plane.high[0] - plane.low[0]) / far[i];
        plane.points[i] = plane.within(mean.map((m, k) => m + (plane.points[i][k] - m) * Math.max(way, 1)));
        plane.chosen = i;
        plane.changed(true);
      } else if (what === "reset") {
        if (this.step === "own" && this.table.rows) this.table.clear();
        this.load(["grid", "outliers"].includes(this.step) ? this.step : this.name);
        this.solve(true);
      } else if (what === "drop") {
        const { low, high } = plane, place = (k, t) => low[k] + t * (high[k] - low[k]), turn = 2.4 * plane.points.length;
        plane.add([place(0, 0.5 + 0.05 * Math.cos(turn)), place(1, 0.5 + 0.08 * Math.sin(turn))], -1);
      } else if (what === "take") {
        const kept = plane.points.filter((_, i) => plane.labels[i] > 0);
        plane.points = kept;
        plane.labels = kept.map(() => 1);
        plane.chosen = 0;
        plane.changed(true);
      } else if (what === "ring") { this.load("a ring"); this.solve(true); }
      else if (what === "example") this.table.read(this.data.example.text, "example");
      else if (this.best?.[what.slice(5)]) { const { p, c } = this.best[what.slice(5)]; this.set({ p, c }); }
    }

    set(changes, isNew = false) {
      const isSameView = Object.keys(changes).every((name) => name === "c" || name === "width" || name === "kernel");
      Object.assign(this.state, isSameView ? {} : { nine: false }, changes);
      if (isNew || "which" in changes || "mean" in changes) this.best = this.judged = null;
      const shown = this.section.dataset.controls.split(" ");
      for (const [name, { row, show }] of Object.entries(this.sliders)) {
        row.hidden = !shown.includes(name) || (name === "c" && this.state.locked) || (name === "share" && !this.state.locked);
        show(this.state[name]);
      }
      for (const button of this.section.querySelectorAll("button[data-set]")) {
        button.setAttribute("aria-pressed", Object.entries(JSON.parse(button.dataset.set)).every(([key, value]) => this.state[key] === value));
      }
      this.start = null;
      this.solve(true);
    }

    solve(isDone) {
      if (this.step === "own" && this.table.rows) { this.table.fit(); return; }
      const { p, share, c, width, locked, hard, kernel } = this.state, { points } = this.plane;
      const gamma = kernel === "linear" ? "linear" : this.gamma / width ** 2, K = lpsvdd.gram(points, gamma);
      const labels = this.step === "outliers" ? this.plane.labels : null;
      const model = labels ? lpsvdd.atCost(K, p, c, labels) : hard ? lpsvdd.hardBall(K) : locked ? lpsvdd.atShare(K, p, share, this.start) : lpsvdd.atCost(K, p, c);
      this.start = isDone ? null : Math.log(model.c);
      this.nine = this.state.nine ? this.data.nine.map((q) => { const ball = lpsvdd.atCost(K, q, c); return { model: ball, title: `p = ${fraction(q)}: ${ball.n - ball.outside} inside` }; }) : null;
      Object.assign(this, { K, model, gammaNow: gamma, ghost: this.step === "exponent" && !isDone ? this.ghost : null });
      this.show();
      clearTimeout(this.timer);
      if (this.step === "exponent" && isDone) this.timer = setTimeout(() => this.findGhost(), PATIENCE);
      if (this.step === "grid" && isDone) this.judge();
    }

    // The l1 balls of these points and width are solved once.
    findGhost() {
      const key = `${this.version} ${this.gammaNow}`;
      if (this.family?.key !== key) this.family = { key, all: lpsvdd.familyOfOne(this.K) };
      this.ghost = lpsvdd.nearestOne(this.K, this.model, this.family.all);
      this.show();
    }

    // The cells of both methods, a few at a time so that the page stays alive; l1 first.
    judge() {
      const key = `${this.version} ${this.gammaNow} ${this.state.which} ${this.state.mean}`;
      if (this.judged?.key === key) { this.show(); return; }
      const { points } = this.plane, { K, gammaNow } = this, { judges } = this.data.grid, families = { one: [], lp: [] };
      const cells = lpsvdd.cells(K, this.data.grid, this.state.which);
      if (this.state.which === "grid" && this.state.mean) cells.one.push({ p: 1, c: 1 / points.length });
      this.judged = { key, families, hard: lpsvdd.hardBall(K) };
      const work = () => {
        if (this.judged?.key !== key) return;
        const until = performance.now() + SLICE;
        for (const name of ["one", "lp"]) {
          while (families[name].length < cells[name].length && performance.now() < until) {
            families[name].push(lpsvdd.judged(points, K, gammaNow, cells[name][families[name].length], judges));
          }
        }
        if (families.lp.length < cells.lp.length) { setTimeout(work, 0); return; }
        const isFirst = !this.best;
        this.best = { one: lpsvdd.chosen(families.one), lp: lpsvdd.chosen(families.lp) };
        if (isFirst) this.act("best-one"); else this.show();
      };
      setTimeout(work, 0);
    }

    show() {
      const { model, plane, figure, step } = this, isGrid = step === "grid";
      plane.show({ model, gamma: this.gammaNow, ghost: this.ghost, judges: isGrid ? this.data.grid.judges : null,
        nine: this.nine, isShaded: this.gammaNow !== "linear", hasBands: true, isEditable: true, hasOutliers: step === "outliers" });
      this.say(model);
      const read = (name, text) => { figure.querySelector(`[data-reading=${name}]`).textContent = minus(text); };
      if (step === "exponent") {
        const { ghost } = this, aside = model.reached ? "" : " Too many points are on the surface of this ball for so small a share, so the line is drawn a little outside it.";
        lpsvdd.showTilt(figure.querySelector(".panel.tilt"), { model, ghost, hard: this.family?.all[0] ?? model });
        read("ghost", ghost ? `Its own share outside is ${Math.round(100 * ghost.share)} %. The two centres are ${(100 * ghost.apart).toFixed(1)} % of the distance from the kernel mean to the hard ball apart. Over the plane the two scores have a rank correlation of ${this.alike().toFixed(3)}, where 1 means the same order.${aside}` : "Looking for it …");
      }
      if (isGrid) {
        const { families, hard } = this.judged ?? {}, { best } = this;
        if (best) lpsvdd.showCells(figure.querySelector(".panel.cells"), { families, hard, best, shown: model });
        read("scores", best ? `The AUC of ℓ1 is ${best.one.test.toFixed(1)}, that of ℓp is ${best.lp.test.toFixed(1)}; the lead of ℓp is ${signed(best.lp.test - best.one.test)} points.` : "Solving every cell …");
        figure.querySelector(".panel.cells").setAttribute("aria-label", "AUC of every cell between kernel mean and hard ball; the chosen ones have a ring.");
      }
    }

    // Step and settings are kept in the address, so that a link leads back to them; the points are not.
    toAddress() {
      const { step, state } = this, shown = { step, ...(this.chooser.parentElement.hidden ? {} : { points: this.name }), ...state };
      history.replaceState(null, "", `#try:${new URLSearchParams(Object.entries(shown).map(([key, value]) => [key, `${value}`]))}`);
    }
    fromAddress() {
      if (!location.hash.startsWith("#try:")) return;
      const { step, points, ...state } = Object.fromEntries(new URLSearchParams(location.hash.slice(5)));
      if (!this.sections.some((section) => section.dataset.step === step)) return;
      const known = JSON.parse(this.section.dataset.set);
      for (const [key, text] of Object.entries(state)) {
        const value = ["true", "false"].includes(text) ? text === "true" : Number(text);
        if (["kernel", "which"].includes(key) ? ["linear", "gauss", "grid", "range"].includes(text) : typeof value === "boolean" || value > 0) known[key] = Number.isNaN(value) ? text : value;
      }
      this.enter(step);
      if (points in this.sets) this.load(points);
      this.set(known);
      this.figure.scrollIntoView({ behavior: "instant" });
    }

    // Rank correlation of two models over the plane.
    alike() {
      const scores = (model) => lpsvdd.distanceGrid(this.plane.points, model, this.gammaNow, ...this.plane.axes(30, 30));
      return lpsvdd.rankCorrelation(scores(this.model), scores(this.ghost));
    }

    say({ n, inside, surface, outside, caught, alpha, labels, converged, gap, radiusSq }) {
      const among = labels ? labels.filter((label) => label < 0).length : 0, weights = labels ? [...alpha].filter((a, i) => labels[i] < 0 && a > 1e-6).length : 0;
      const outliers = among ? ` ${among} labelled outliers: ${caught} inside, ${weights} with weight.` : "";
      const isEmpty = radiusSq <= 0 ? " R² is not positive, so nothing is inside, and only the order of the scores has a meaning." : "";
      const { nine, state } = this, counts = nine ? `Nine balls at the cost c = ${state.c} and the width × ${fraction(state.width)}. Tap one to see it alone. ` : `${n - among} points: ${inside} inside, ${surface} on the boundary, ${outside} outside.${outliers}${isEmpty} `;
      if (nine) [converged, gap] = [nine.every(({ model }) => model.converged), Math.max(...nine.map(({ model }) => model.gap))];
      this.summary.replaceChildren(counts);
      make("span", { className: "certificate", textContent: converged ? `Certified: no ball is cheaper by more than ${power(gap)}.` : "Not certified." , title: "Relative duality gap: the objective of this ball minus a lower bound for every ball, divided by one plus the objective." }, this.summary);
    }
  }

  Object.assign(lpsvdd, { make, minus });
  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("figure.explorable").forEach((figure) => new Explorable(figure)));
})();
