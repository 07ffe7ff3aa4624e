// The plane of the explorable: points, the boundary of the ball, its ghost, bands, and what mouse, touch and keys do to
// the points. The circles are kept while they move: a touch that loses its circle loses its drag.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg", SIZE = 1000, GRID = 90, REACH = 22, STROKE = 26, MOST = 150;
  const WIDE = 1.6, PHONE = matchMedia("(max-width: 700px)"); // width over height; a square on a phone

  function draw(name, attributes, parent) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    parent.append(node);
    return node;
  }

  // Where a level crosses the cells of a grid: segments of a path, linearly interpolated.
  function contour(values, level, columns) {
    const rows = values.length / columns, unit = SIZE / (columns - 1);
    const place = (column, row) => `${(column * unit).toFixed(1)} ${(row * unit).toFixed(1)}`;
    let path = "";
    for (let row = 0; row + 1 < rows; row++) {
      for (let column = 0; column + 1 < columns; column++) {
        const at = row * columns + column;
        const corners = [[column, row, values[at]], [column + 1, row, values[at + 1]],
          [column + 1, row + 1, values[at + columns + 1]], [column, row + 1, values[at + columns]]];
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

  // `changed(isDone)` is called after every change of the points; isDone is false in the middle of a drag.
  class Plane {
    constructor(parent, changed) {
      this.changed = changed;
      this.points = [];
      this.labels = []; // 1 for a target, -1 for a labelled outlier
      this.chosen = 0;
      this.mode = "move";
      const box = parent.appendChild(document.createElement("div"));
      box.className = "plane";
      this.canvas = box.appendChild(document.createElement("canvas"));
      this.canvas.setAttribute("aria-hidden", "true");
      this.svg = draw("svg", { id: "explorable-plane", tabindex: 0, role: "application",
        "aria-label": "Points in the plane and the boundary of the ball. Brackets choose a point, arrow keys move it, plus adds one, minus adds a labelled outlier, Delete removes the point." }, box);
      for (const name of ["levels", "bands", "ghost", "border", "judges", "centre"]) this[name] = draw("path", { class: name }, this.svg);
      this.dots = draw("g", {}, this.svg);
      this.crosses = draw("path", { class: "crosses" }, this.svg);
      this.panels = draw("g", { class: "panels" }, this.svg);
      this.listen();
      PHONE.addEventListener("change", () => { this.fit(this.points); this.show(); });
    }

    load(points, labels = points.map(() => 1)) {
      this.points = points.map((point) => [...point]);
      this.labels = [...labels];
      this.chosen = 0;
      this.fit(points);
    }

    // The part of the plane that is seen: all points, with a margin.
    fit(points) {
      const ratio = PHONE.matches ? 1 : WIDE;
      Object.assign(this, { ratio, tall: SIZE / ratio, columns: GRID, rows: Math.round((GRID - 1) / ratio) + 1 });
      this.svg.setAttribute("viewBox", `0 0 ${SIZE} ${this.tall}`);
      Object.assign(this.canvas, { width: this.columns, height: this.rows });
      const extent = (k) => [Math.min(...points.map((x) => x[k])), Math.max(...points.map((x) => x[k]))];
      const [x, y] = [extent(0), extent(1)], half = 0.65 * Math.max((x[1] - x[0]) / ratio, y[1] - y[0]) || 1, reach = [half * ratio, half];
      this.low = [x, y].map(([least, most], k) => (least + most) / 2 - reach[k]);
      this.high = this.low.map((value, k) => value + 2 * reach[k]);
    }

    within = (point) => point.map((value, k) => Math.min(Math.max(value, this.low[k]), this.high[k]));
    toPage = ([x, y]) => [(x - this.low[0]) / (this.high[0] - this.low[0]) * SIZE, (this.high[1] - y) / (this.high[1] - this.low[1]) * this.tall];
    toData(event) {
      const box = this.svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width, y = (event.clientY - box.top) / box.height;
      return this.within([this.low[0] + x * (this.high[0] - this.low[0]), this.high[1] - y * (this.high[1] - this.low[1])]);
    }
    // The point nearest to a finger or mouse, at most REACH CSS pixels away.
    nearest(event) {
      const box = this.svg.getBoundingClientRect(), scale = box.width / SIZE;
      const distances = this.points.map((point) => {
        const [x, y] = this.toPage(point);
        return Math.hypot(box.left + x * scale - event.clientX, box.top + y * scale - event.clientY);
      });
      const least = Math.min(...distances);
      return least <= REACH ? distances.indexOf(least) : -1;
    }

    add(point, label = 1) {
      if (this.points.length >= MOST || (label < 0 && !this.hasOutliers)) return;
      this.points.push(point);
      this.labels.push(label);
      this.chosen = this.points.length - 1;
      this.changed(!this.isDrawing);
    }
    remove(index) {
      const targets = this.labels.filter((label) => label > 0).length;
      if (index < 0 || (this.labels[index] > 0 && targets <= 3)) return;
      this.points.splice(index, 1);
      this.labels.splice(index, 1);
      this.chosen = Math.min(this.chosen, this.points.length - 1);
      this.changed(true);
    }

    listen() {
      const { svg } = this;
      svg.addEventListener("pointerdown", (event) => {
        if (!event.isPrimary || event.button > 0 || !this.isEditable) return;
        event.preventDefault();
        svg.focus({ preventScroll: true });
        if (this.panels.childElementCount) { this.pick(event); return; }
        const index = this.nearest(event);
        if (this.mode === "erase" || event.shiftKey) { this.remove(index); return; }
        if (this.mode === "outlier" || event.altKey) { this.add(this.toData(event), -1); return; }
        if (this.mode === "move" && index < 0) return;
        svg.setPointerCapture(event.pointerId);
        if (this.mode === "move") { this.chosen = index; this.isDragging = true; this.show(); return; }
        this.isDrawing = true;
        this.last = event;
        this.add(this.toData(event));
      });
      svg.addEventListener("pointermove", (event) => {
        if (this.isDragging) {
          this.points[this.chosen] = this.toData(event);
          this.changed(false);
        } else if (this.isDrawing && Math.hypot(event.clientX - this.last.clientX, event.clientY - this.last.clientY) > STROKE) {
          this.last = event;
          this.add(this.toData(event));
        }
      });
      const stop = () => {
        if (!this.isDragging && !this.isDrawing) return;
        this.isDragging = this.isDrawing = false;
        this.changed(true);
      };
      svg.addEventListener("pointerup", stop);
      svg.addEventListener("pointercancel", stop);
      svg.addEventListener("keydown", (event) => {
        if (!this.isEditable) return;
        const step = (this.high[0] - this.low[0]) / (event.shiftKey ? 100 : 25), n = this.points.length, [x, y] = this.points[this.chosen];
        const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
        if (event.key in moves) {
          this.points[this.chosen] = this.within([x + moves[event.key][0], y + moves[event.key][1]]);
          this.changed(true);
        } else if (event.key === "]") { this.chosen = (this.chosen + 1) % n; this.show(); }
        else if (event.key === "[") { this.chosen = (this.chosen + n - 1) % n; this.show(); }
        else if (event.key === "Delete" || event.key === "Backspace") this.remove(this.chosen);
        else if (event.key === "+") this.add(this.within([x + step, y + step]));
        else if (event.key === "-") this.add(this.within([x + step, y - step]), -1);
        else return;
        event.preventDefault();
      });
    }

    // Columns and rows of a grid over the plane, from left to right and from top to bottom.
    axes(columns = this.columns, rows = this.rows) {
      const axis = (k, count) => Array.from({ length: count }, (_, i) => this.low[k] + (i / (count - 1)) * (this.high[k] - this.low[k]));
      return [axis(0, columns), axis(1, rows).reverse()];
    }

    // What is seen: { model, gamma, ghost, judges, nine, isShaded, hasBands, isEditable, hasOutliers }; without
    // arguments the same again.
    show(view = this.view) {
      this.view = view;
      const { model, gamma } = view, { lpsvdd } = globalThis;
      Object.assign(this, { isEditable: view.isEditable, hasOutliers: view.hasOutliers });
      this.svg.parentElement.classList.toggle("is-nine", Boolean(view.nine));
      this.showNine(view.nine ?? [], gamma);
      const [xs, ys] = this.axes(), values = gamma ? lpsvdd.distanceGrid(this.points, model, gamma, xs, ys) : [];
      this.shade(view.isShaded && !view.nine ? values : []);
      this.border.setAttribute("d", gamma ? contour(values, model.level, this.columns) : "");
      const { ghost } = view;
      this.ghost.setAttribute("d", ghost ? contour(lpsvdd.distanceGrid(this.points, ghost, gamma, xs, ys), ghost.level, this.columns) : "");
      this.showBall(view.hasBands && gamma === "linear" ? model : null);
      const { targets = [], outliers = [] } = view.judges ?? {}, at = (point) => this.toPage(point).map((v) => v.toFixed(1)).join(" ");
      this.judges.setAttribute("d", targets.map((x) => `M${at(x)}m-9-9h18v18h-18z`).join("") + outliers.map((x) => `M${at(x)}m-12-12l24 24m-24 0l24-24`).join(""));
      this.showPoints(model);
    }

    shade(values) {
      const context = this.canvas.getContext("2d"), image = context.createImageData(this.columns, this.rows);
      const least = Math.min(...values), most = Math.max(...values), span = most - least || 1;
      const colour = getComputedStyle(this.svg).getPropertyValue("--shade").trim().split(/\s*,\s*/).map(Number);
      values.forEach((value, i) => image.data.set([...colour, Math.round(150 * (1 - (value - least) / span))], 4 * i));
      context.putImageData(image, 0, 0);
      this.levels.setAttribute("d", values.length ? [1, 2, 3, 4, 5].map((k) => contour(values, least + k / 6 * span, this.columns)).join("") : "");
    }

    // Without a kernel the centre is a point of the plane, and a slack is a line from the point to the circle.
    showBall(model) {
      this.bands.setAttribute("d", "");
      this.centre.setAttribute("d", "");
      if (!model) return;
      const centre = [0, 1].map((k) => this.points.reduce((sum, x, i) => sum + model.alpha[i] * x[k], 0)), [cx, cy] = this.toPage(centre);
      this.centre.setAttribute("d", `M${cx} ${cy}m-14 0h28m-14-14v28`);
      const radius = Math.sqrt(Math.max(model.level, 0));
      this.bands.setAttribute("d", this.points.map((x, i) => {
        if (model.sides[i] !== "outside") return "";
        const length = Math.hypot(x[0] - centre[0], x[1] - centre[1]);
        return `M${this.toPage(x).join(" ")}L${this.toPage(centre.map((a, k) => a + (x[k] - a) * radius / length)).join(" ")}`;
      }).join(""));
    }

    showPoints(model) {
      const largest = Math.max(...model.alpha), crosses = [];
      while (this.dots.childElementCount < this.points.length) draw("circle", {}, this.dots);
      while (this.dots.childElementCount > this.points.length) this.dots.lastChild.remove();
      this.points.forEach((point, i) => {
        const [cx, cy] = this.toPage(point), r = 9 + 13 * Math.sqrt(Math.max(model.alpha[i], 0) / largest);
        const kind = this.labels[i] < 0 ? "outlier " : "", chosen = i === this.chosen && this.isEditable ? " chosen" : "";
        if (kind) crosses.push(`M${cx - r} ${cy - r}l${2 * r} ${2 * r}m${-2 * r} 0l${2 * r} ${-2 * r}`);
        const look = { cx, cy, r, class: `point ${kind}${model.sides[i]}${chosen}`, "data-index": i };
        for (const [key, value] of Object.entries(look)) this.dots.children[i].setAttribute(key, value);
      });
      this.crosses.setAttribute("d", crosses.join(""));
    }

    // Nine balls in panels, three in a row: [{ title, model }, ...].
    showNine(nine, gamma) {
      this.panels.replaceChildren();
      const columns = 60, [xs, ys] = this.axes(columns, Math.round((columns - 1) / this.ratio) + 1);
      nine.forEach(({ title, model }, k) => {
        const panel = draw("g", { transform: `translate(${k % 3 * SIZE / 3} ${Math.floor(k / 3) * this.tall / 3}) scale(${1 / 3})` }, this.panels);
        draw("rect", { width: SIZE, height: this.tall, class: "frame" }, panel);
        this.points.forEach((point, i) => {
          const [cx, cy] = this.toPage(point);
          draw("circle", { cx, cy, r: 13, class: `point ${model.sides[i]}` }, panel);
        });
        draw("path", { d: contour(globalThis.lpsvdd.distanceGrid(this.points, model, gamma, xs, ys), model.level, columns), class: "border" }, panel);
        draw("text", { x: 24, y: 62 }, panel).textContent = title;
      });
    }

    // The panel under a finger or mouse is chosen.
    pick(event) {
      const box = this.svg.getBoundingClientRect(), at = (value, length) => Math.min(Math.max(Math.floor(3 * value / length), 0), 2);
      this.picked(3 * at(event.clientY - box.top, box.height) + at(event.clientX - box.left, box.width));
    }
  }

  Object.assign(globalThis.lpsvdd, { Plane, draw });
})();
