// The plane of the explorable: points, the boundary of the ball, its ghost, bands, and what hands and keys do to
// the points. The circles are kept while they move: a touch that loses its circle loses its drag.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg", SIZE = 1000, GRID = 90, REACH = 22, STROKE = 26, MOST = 150;

  function draw(name, attributes, parent) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    parent.append(node);
    return node;
  }

  // Where a level crosses the cells of a grid: segments of a path, linearly interpolated.
  function contour(values, level) {
    const place = (column, row) => `${(column / (GRID - 1) * SIZE).toFixed(1)} ${(row / (GRID - 1) * SIZE).toFixed(1)}`;
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

  // `changed(isDone)` is called after every change of the points; isDone is false in the middle of a drag.
  class Plane {
    constructor(parent, changed) {
      this.changed = changed;
      this.points = [];
      this.chosen = 0;
      this.mode = "move";
      const box = parent.appendChild(document.createElement("div"));
      box.className = "plane";
      this.canvas = box.appendChild(document.createElement("canvas"));
      Object.assign(this.canvas, { width: GRID, height: GRID });
      this.canvas.setAttribute("aria-hidden", "true");
      this.svg = draw("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, tabindex: 0, role: "application",
        "aria-label": "Points in the plane and the boundary of the ball. Brackets choose a point, arrow keys move it, plus adds one, Delete removes it." }, box);
      for (const name of ["levels", "bands", "ghost", "border", "judges", "centre"]) this[name] = draw("path", { class: name }, this.svg);
      this.dots = draw("g", {}, this.svg);
      this.listen();
    }

    load(points) {
      this.points = points.map((point) => [...point]);
      this.chosen = 0;
      const extent = (k) => [Math.min(...points.map((x) => x[k])), Math.max(...points.map((x) => x[k]))];
      const [x, y] = [extent(0), extent(1)], half = 0.7 * Math.max(x[1] - x[0], y[1] - y[0]) || 1;
      this.low = [x, y].map(([least, most]) => (least + most) / 2 - half);
      this.high = this.low.map((value) => value + 2 * half);
    }

    within = (point) => point.map((value, k) => Math.min(Math.max(value, this.low[k]), this.high[k]));
    toPage = ([x, y]) => [(x - this.low[0]) / (this.high[0] - this.low[0]) * SIZE, (this.high[1] - y) / (this.high[1] - this.low[1]) * SIZE];
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

    add(point) {
      if (this.points.length >= MOST) return;
      this.points.push(point);
      this.chosen = this.points.length - 1;
      this.changed(!this.isDrawing);
    }
    remove(index) {
      if (index < 0 || this.points.length <= 3) return;
      this.points.splice(index, 1);
      this.chosen = Math.min(this.chosen, this.points.length - 1);
      this.changed(true);
    }

    listen() {
      const { svg } = this;
      svg.addEventListener("pointerdown", (event) => {
        if (!event.isPrimary || event.button > 0 || !this.isEditable) return;
        event.preventDefault();
        svg.focus({ preventScroll: true });
        const index = this.nearest(event);
        if (this.mode === "erase" || event.shiftKey) { this.remove(index); return; }
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
        else return;
        event.preventDefault();
      });
    }

    // What is seen: { model, gamma, ghost, judges, isShaded, hasBands, isEditable }; without arguments the same again.
    show(view = this.view) {
      this.view = view;
      const { model, gamma } = view, { lpsvdd } = globalThis;
      this.isEditable = view.isEditable;
      const axis = (k) => Array.from({ length: GRID }, (_, i) => this.low[k] + (i / (GRID - 1)) * (this.high[k] - this.low[k]));
      const xs = axis(0), ys = axis(1).reverse(), values = gamma ? lpsvdd.distanceGrid(this.points, model, gamma, xs, ys) : [];
      this.shade(view.isShaded ? values : []);
      this.border.setAttribute("d", gamma ? contour(values, model.level) : "");
      const { ghost } = view;
      this.ghost.setAttribute("d", ghost ? contour(lpsvdd.distanceGrid(this.points, ghost, gamma, xs, ys), ghost.level) : "");
      this.showBall(view.hasBands && gamma === "linear" ? model : null);
      const { targets = [], outliers = [] } = view.judges ?? {}, at = (point) => this.toPage(point).map((v) => v.toFixed(1)).join(" ");
      this.judges.setAttribute("d", targets.map((x) => `M${at(x)}m-9-9h18v18h-18z`).join("") + outliers.map((x) => `M${at(x)}m-12-12l24 24m-24 0l24-24`).join(""));
      this.showPoints(model);
    }

    shade(values) {
      const context = this.canvas.getContext("2d"), image = context.createImageData(GRID, GRID);
      const least = Math.min(...values), most = Math.max(...values), span = most - least || 1;
      const colour = getComputedStyle(this.svg).getPropertyValue("--shade").trim().split(/\s*,\s*/).map(Number);
      values.forEach((value, i) => image.data.set([...colour, Math.round(150 * (1 - (value - least) / span))], 4 * i));
      context.putImageData(image, 0, 0);
      this.levels.setAttribute("d", values.length ? [1, 2, 3, 4, 5].map((k) => contour(values, least + k / 6 * span)).join("") : "");
    }

    // Without a kernel the centre is a point of the plane, and a slack a band from the point to the circle.
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
      const largest = Math.max(...model.alpha);
      while (this.dots.childElementCount < this.points.length) draw("circle", {}, this.dots);
      while (this.dots.childElementCount > this.points.length) this.dots.lastChild.remove();
      this.points.forEach((point, i) => {
        const [cx, cy] = this.toPage(point), r = 9 + 13 * Math.sqrt(Math.max(model.alpha[i], 0) / largest);
        const look = { cx, cy, r, class: `point ${model.sides[i]}${i === this.chosen && this.isEditable ? " chosen" : ""}`, "data-index": i };
        for (const [key, value] of Object.entries(look)) this.dots.children[i].setAttribute(key, value);
      });
    }
  }

  Object.assign(globalThis.lpsvdd, { Plane, draw });
})();
