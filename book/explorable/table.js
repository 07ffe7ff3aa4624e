// A reader's own table: every column standardised, one ball, a threshold that rejects a share of *new* rows
// (lpsvdd.surface), and the columns' contributions to the scores of the oddest rows (lpsvdd.explain).
(() => {
  "use strict";
  const { lpsvdd } = globalThis, FITTED = 300, SHOWN = 8, LARGEST_FILE = 5e6, STIFF = 1e6, JITTER = 1e-10;

  // Mean 0 and standard deviation 1 in every column.
  function standardised(rows) {
    const n = rows.length, columns = rows[0].map((_, j) => {
      const mean = rows.reduce((sum, row) => sum + row[j], 0) / n;
      return [mean, Math.sqrt(rows.reduce((sum, row) => sum + (row[j] - mean) ** 2, 0) / n)];
    });
    return rows.map((row) => row.map((value, j) => (value - columns[j][0]) / columns[j][1]));
  }

  // Squared radius that a share of new rows exceeds: the distances of the rows to the ball without them, by one
  // Newton step on the weights of the others (second order), at most those of the first order.
  function surface({ alpha, distances, radiusSq, K, n, p }, share) {
    const mean = lpsvdd.dot(alpha, distances), s = distances.map((d) => d + mean);
    const support = [...alpha.keys()].filter((i) => alpha[i] > 0), m = support.length;
    const rows = support.map((i) => support.reduce((sum, j) => sum + K[i * n + j], 0) / m), all = rows.reduce((a, b) => a + b, 0) / m;
    const centred = Float64Array.from({ length: m * m }, (_, at) => K[support[Math.floor(at / m)] * n + support[at % m]] - rows[Math.floor(at / m)] - rows[at % m] + all);
    const unit = centred.reduce((most, value) => Math.max(most, Math.abs(value)), 0), matrix = centred.map((value) => value / unit);
    const slack = support.map((i) => Math.max(distances[i] - radiusSq, 0) / unit), bound = Math.max(...alpha) * (1 - 1e-6);
    const stiffness = Float64Array.from(support, (i, k) => JITTER + (p > 1 ? Math.min(slack[k] / ((p - 1) * alpha[i]), STIFF) : slack[k] > 1e-8 || alpha[i] >= bound ? STIFF : 0));
    const L = lpsvdd.factorise(matrix, 1, stiffness), diagonal = Float64Array.from({ length: m }, (_, k) => matrix[k * m + k]);
    const u = lpsvdd.solveWith(L, new Float64Array(m).fill(1)), v = lpsvdd.solveWith(L, diagonal), total = u.reduce((a, b) => a + b, 0), uk = lpsvdd.dot(u, diagonal);
    const without = s.map((value, i) => value / (1 - alpha[i]));
    support.forEach((i, k) => {
      const one = new Float64Array(m);
      one[k] = 1;
      const nii = Math.max(lpsvdd.solveWith(L, one)[k] - u[k] ** 2 / total, 1 / (2 * STIFF)), resistance = Math.max(1 / nii - stiffness[k], 0);
      const moved = s[i] + unit * alpha[i] * (resistance - (u[k] / total + v[k] - u[k] * uk / total) / nii);
      without[i] = Math.min(Math.max(moved, s[i]), without[i]);
    });
    const sorted = without.sort(), rank = Math.min(Math.max((1 - share) * (n + 1), 1), n), below = Math.floor(rank + 1e-9);
    return sorted[below - 1] + Math.max(rank - below, 0) * (sorted[Math.min(below, n - 1)] - sorted[below - 1]) - mean;
  }

  // psi_j(x) = 2 sum_i alpha_i t_j(x, x_i) - constant, t_j(x, z) = (x_j - z_j)^2 (exp(-gamma D) - 1)/D, D = ||x - z||^2.
  function contributions(points, alpha, gamma, rows) {
    const support = [...alpha.keys()].filter((i) => alpha[i] > 0), d = points[0].length;
    const products = (x) => {
      const out = new Float64Array(d);
      for (const i of support) {
        const D = lpsvdd.squared(x, points[i]), slope = alpha[i] * (D > 0 ? Math.expm1(-gamma * D) / D : -gamma);
        for (let j = 0; j < d; j++) out[j] += slope * (x[j] - points[i][j]) ** 2;
      }
      return out;
    };
    const constant = new Float64Array(d);
    for (const i of support) products(points[i]).forEach((value, j) => { constant[j] += alpha[i] * value; });
    return rows.map((x) => products(x).map((value, j) => 2 * value - constant[j]));
  }

  // The model of a table: { model, scores, threshold, points, gamma }; many rows are fitted on every k-th.
  function fitTable(Z, { p, share, width = 1, c = null }) {
    const every = Math.ceil(Z.length / FITTED), points = Z.filter((_, i) => i % every === 0);
    const gamma = lpsvdd.halfMeanDistanceGamma(points) / width ** 2, K = lpsvdd.gram(points, gamma);
    const model = c === null ? lpsvdd.atShare(K, p, share) : lpsvdd.atCost(K, p, c);
    return { model, points, gamma, threshold: -surface(model, share), scores: lpsvdd.distancesTo(points, model, gamma, Z).map((d) => -d) };
  }

  class OwnTable {
    constructor(figure, explorable) {
      Object.assign(this, { figure, explorable, rows: null });
      const input = figure.querySelector("input[type=file]");
      this.message = figure.querySelector(".message");
      this.output = figure.querySelector(".table");
      input.addEventListener("change", () => { if (input.files.length) this.open(input.files[0]); input.value = ""; });
      figure.addEventListener("dragover", (event) => event.preventDefault());
      figure.addEventListener("drop", (event) => {
        event.preventDefault();
        if (!event.dataTransfer.files.length) return;
        if (explorable.step !== "own") explorable.enter("own");
        this.open(event.dataTransfer.files[0]);
      });
    }

    async open(file) {
      if (file.size > LARGEST_FILE) this.fail(`${file.name} is too large for this page: at most ${LARGEST_FILE / 1e6} MB.`);
      else this.read(await file.text(), file.name);
    }
    read(text, name) {
      try {
        Object.assign(this, lpsvdd.parseTable(text), { name });
      } catch (error) { this.fail(`${name} was not read. ${error.message}`); return; }
      this.Z = standardised(this.rows);
      this.fit();
    }
    fail(text) {
      this.clear();
      this.message.textContent = text;
      this.message.classList.add("error");
      this.explorable.act("reset");
    }
    clear() {
      this.rows = null;
      this.message.textContent = "";
      this.message.classList.remove("error");
      this.output.replaceChildren();
    }
    show() { if (!this.rows && this.explorable.kept) this.explorable.put(this.explorable.kept); }

    fit() {
      const { state, plane } = this.explorable, d = this.names.length;
      const { model, points, gamma, scores, threshold } = this.found = fitTable(this.Z, state);
      const order = [...scores.keys()].sort((i, j) => scores[i] - scores[j]).slice(0, SHOWN);
      const reasons = contributions(points, model.alpha, gamma, order.map((i) => this.Z[i]));
      // The plane shows the two columns that take most from the oddest rows; the boundary only where there are no others.
      const taken = this.names.map((_, j) => reasons.reduce((sum, row) => sum + row[j], 0));
      const [a, b] = [...taken.keys()].sort((i, j) => taken[i] - taken[j]).slice(0, 2).sort((i, j) => i - j);
      plane.load(points.map((row) => [row[a], row[b]]));
      const shown = { ...model, level: -threshold, sides: [...model.distances].map((value) => (value > -threshold ? "outside" : "inside")) };
      plane.show({ model: shown, gamma: d === 2 ? gamma : null, isShaded: d === 2, isEditable: false });
      const rejected = scores.filter((value) => value < threshold).length;
      this.explorable.say({ ...model, inside: scores.length - rejected, surface: 0, outside: rejected, n: scores.length, radiusSq: 1 });
      this.write(order, reasons, rejected, [a, b]);
    }

    write(order, reasons, rejected, axes) {
      const { make, minus } = lpsvdd, { scores, threshold, points } = this.found, n = scores.length, percent = Math.round(100 * this.explorable.state.share);
      this.message.classList.remove("error");
      this.message.textContent = minus(`${this.name}: ${n} rows, ${this.names.length} columns` +
        (points.length < n ? `, fitted on ${points.length} of the rows` : "") + (this.leftOut.length ? `; left out: ${this.leftOut.join(", ")}` : "") +
        `. The threshold is ${threshold.toFixed(3)}: about ${percent} % of new rows of this kind score lower. Of these rows ${rejected === 1 ? "one does" : `${rejected || "none"} do`}; the ball was fitted to them, so they score higher than new ones. ` +
        `In the plane: ${axes.map((j) => this.names[j]).join(" and ")}.`);
      this.output.replaceChildren();
      const table = make("table", { className: "numbers" }, this.output), line = (name, cells) => { const row = make("tr", {}, table); cells.forEach((text) => make(name, { textContent: text }, row)); };
      line("th", ["line", "score", "columns that lower it most (value, contribution)"]);
      order.forEach((i, k) => {
        const best = [...reasons[k].keys()].sort((x, y) => reasons[k][x] - reasons[k][y]).slice(0, 3);
        line("td", [`${this.lines[i]}`, minus(`${scores[i].toFixed(3)}${scores[i] < threshold ? " rejected" : ""}`),
          best.map((j) => `${this.names[j]} ${minus(`${this.rows[i][j]} (${reasons[k][j].toFixed(3)})`)}`).join(", ")]);
      });
      const text = ["line,score,rejected", ...[...scores].map((value, i) => `${this.lines[i]},${value},${Number(value < threshold)}`)].join("\n");
      URL.revokeObjectURL(this.link);
      this.link = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
      make("a", { href: this.link, download: "scores.csv", textContent: "Save all scores" }, make("p", {}, this.output));
    }
  }

  Object.assign(lpsvdd, { OwnTable, fitTable, standardised, contributions });
})();
