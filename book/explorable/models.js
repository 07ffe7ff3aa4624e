// Models of the explorable: a ball with a share of the points outside, its place between kernel mean and
// hard ball, its nearest l1 ball, the cells of a grid and of a range, and their AUC.
(() => {
  "use strict";
  const { gram, solveMatrix, times, dot, distancesTo } = globalThis.lpsvdd;
  const FILM = 1e-6, SHELL = 1e-3, CLOSE = 1e-3; // of the spread: on the surface; thickness of the surface; of log c: a root

  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const falling = (values) => Float64Array.from(values).sort().reverse();

  // Squared distances of the points to their mean in feature space.
  function toMean(K) {
    const n = Math.sqrt(K.length), mean = new Float64Array(n).fill(1 / n), kMean = times(K, mean, 1), normSq = dot(mean, kMean);
    return kMean.map((value, i) => K[i * n + i] - 2 * value + normSq);
  }

  // log of the cost at which R2 is the best radius for the distances d: 1 = c p sum (d - R2)_+^(p-1).
  function logCost(d, radiusSq, p) {
    const logs = [...d].filter((value) => value > radiusSq).map((value) => (p - 1) * Math.log(value - radiusSq));
    if (!logs.length) return Infinity;
    const top = Math.max(...logs);
    return -Math.log(p) - top - Math.log(sum(logs.map((value) => Math.exp(value - top))));
  }

  // A solution with its place: which targets are outside, how many labelled outliers inside (`caught`), and the tilt n sum alpha^2 - 1. The drawn surface is `level`:
  // R2, or the radius that leaves the wanted share outside where no cost does (too many points touch the ball).
  function describe(K, found, { level = found.radiusSq, reached = true, labels = null } = {}) {
    const n = found.alpha.length, film = FILM * sum(toMean(K)) / n;
    const sides = [...found.distances].map((d) => (d > level + film ? "outside" : d < level - film ? "inside" : "surface"));
    const count = (side) => sides.filter((s, i) => s === side && !(labels?.[i] < 0)).length;
    return {
      ...found, K, n, level, reached, sides, inside: count("inside"), surface: count("surface"), outside: count("outside"),
      labels, caught: sides.filter((s, i) => s === "inside" && labels?.[i] < 0).length,
      support: [...found.alpha].filter((a) => a > 0).length, tilt: n * sum([...found.alpha].map((a) => (a - 1 / n) ** 2)),
    };
  }

  const atCost = (K, p, c, labels = null) => describe(K, solveMatrix(K, { p, c, labels }), { labels });
  const hardBall = (K) => atCost(K, 1, 2); // with c > 1 no slack pays at p = 1

  // The ball of exponent p with a share of the points outside. At p = 1 c = 1/(share n), and at most that share is
  // outside. For p > 1 a search for log c: q, half-way between the two distances that the surface has to part, is the
  // best radius of this centre at another cost c', and c' = c where the search ends.
  function atShare(K, p, share, start = null) {
    const n = Math.sqrt(K.length);
    if (p === 1) return atCost(K, 1, 1 / (Math.max(share, 0.5 / n) * n));
    const d = toMean(K), spread = sum(d) / n, wanted = Math.min(Math.max(Math.round(share * n), 1), n);
    const surface = (distances) => {
      const sorted = falling(distances);
      return wanted < n ? (sorted[wanted - 1] + sorted[wanted]) / 2 : sorted[n - 1] - SHELL * Math.max(sorted[0] - sorted[n - 1], FILM * spread);
    };
    const most = -Math.log(p * wanted) - (p - 1) * Math.log(SHELL * spread);
    const ends = { low: [-Infinity, 0], high: [Infinity, 0] }; // log c and wish - log c where the bracket ends
    let at = Math.min(start ?? logCost(d, surface(d), p), most), before = "";
    for (let step = 0; ; step++) {
      const found = solveMatrix(K, { p, c: Math.exp(at) }), q = surface(found.distances), model = describe(K, found);
      if (model.outside === wanted) return model;
      const wish = logCost(found.distances, q, p), end = wish > at ? "low" : "high", other = end === "low" ? "high" : "low";
      ends[end] = [at, wish - at];
      if (end === before) ends[other][1] /= 2; // Illinois: the other end is kept for the second time
      before = end;
      const { low, high } = ends, isCrowd = step === 30 || high[0] - low[0] < CLOSE || (at >= most && end === "low");
      if (isCrowd) return describe(K, found, { level: q, reached: false });
      const secant = (low[0] * high[1] - high[0] * low[1]) / (high[1] - low[1]);
      at = Number.isFinite(secant) ? secant : Math.min(at + 1.5 * (wish - at), most);
    }
  }

  // Distance of the centres of two solutions in feature space.
  function apart(K, one, other) {
    const step = one.alpha.map((a, i) => a - other.alpha[i]);
    return Math.sqrt(Math.max(dot(step, times(K, step, 1)), 0));
  }

  // l1 balls from the hard ball to the kernel mean, and the one whose centre is nearest to a model's.
  const familyOfOne = (K, steps = 40) => Array.from({ length: steps + 1 }, (_, k) => atShare(K, 1, k / steps));
  function nearestOne(K, model, family) {
    const distances = family.map((one) => apart(K, model, one)), k = distances.indexOf(Math.min(...distances));
    const way = apart(K, family[0], family.at(-1)) || 1, sorted = falling(family[k].distances);
    const level = model.outside < model.n ? (sorted[Math.max(model.outside - 1, 0)] + sorted[model.outside]) / 2 : -Infinity;
    return { ...family[k], level, share: k / (family.length - 1), apart: distances[k] / way };
  }

  function ranks(values) {
    const order = [...values.keys()].sort((i, j) => values[i] - values[j]), out = new Float64Array(values.length);
    for (let i = 0; i < order.length;) {
      let j = i;
      while (j + 1 < order.length && values[order[j + 1]] === values[order[i]]) j++;
      for (let k = i; k <= j; k++) out[order[k]] = (i + j) / 2;
      i = j + 1;
    }
    return out;
  }
  // Spearman's correlation.
  function rankCorrelation(a, b) {
    const centred = (v) => { const r = ranks(v), mean = sum(r) / r.length; return r.map((x) => x - mean); };
    const x = centred(a), y = centred(b), size = Math.sqrt(dot(x, x) * dot(y, y));
    return size > 0 ? dot(x, y) / size : 1;
  }
  // Per cent of the pairs (target, outlier) in which the outlier is farther from the centre; ties count half.
  function auc(targets, outliers) {
    let wins = 0;
    for (const t of targets) for (const o of outliers) wins += o > t ? 1 : o === t ? 0.5 : 0;
    return 100 * wins / (targets.length * outliers.length);
  }

  // Costs from the hard ball to the mean, as in replication.studies.ranges.share_costs: forty for every exponent.
  const SHARES = Array.from({ length: 32 }, (_, k) => k / 32), BEYOND = [0.1, 0.3, 1, 3, 10, 30, 100, 1000], FOUR = [0, 12, 25, 39];
  function rangeCosts(K, p) {
    const n = Math.sqrt(K.length);
    if (p === 1) return Array.from({ length: 40 }, (_, k) => 1 / (n * Math.max(k / 39, 1 / n)));
    const d = toMean(K).sort(), least = d[0], most = d[n - 1], spread = most - least || sum(d) / n;
    const quantile = (q) => { const at = q * (n - 1), i = Math.min(Math.floor(at), n - 2); return d[i] + (at - i) * (d[i + 1] - d[i]); };
    const radii = [...SHARES.map((share) => quantile(1 - share)), ...BEYOND.map((delta) => least - delta * spread)];
    return radii.map((radius) => Math.exp(logCost(d, Math.min(radius, most - 1e-3 * spread), p)));
  }
  // The cells (p, c) that a method may choose from; l1 cannot use c < 1/n.
  function cells(K, { ps, cs }, which) {
    const n = Math.sqrt(K.length), pairs = (p, costs) => costs.map((c) => ({ p, c }));
    if (which === "grid") return { one: pairs(1, cs.filter((c) => c * n >= 1)), lp: ps.flatMap((p) => pairs(p, cs)) };
    return { one: pairs(1, rangeCosts(K, 1)), lp: ps.flatMap((p) => { const costs = rangeCosts(K, p); return pairs(p, FOUR.map((k) => costs[k])); }) };
  }
  // A cell with its tilt and its AUC on the judges: even ones choose ("validation"), odd ones judge ("test").
  function judged(points, K, gamma, cell, { targets, outliers }) {
    const found = atCost(K, cell.p, cell.c), half = (rows, odd) => distancesTo(points, found, gamma, rows.filter((_, i) => i % 2 === odd));
    return { ...cell, tilt: found.tilt, converged: found.converged, validation: auc(half(targets, 0), half(outliers, 0)), test: auc(half(targets, 1), half(outliers, 1)) };
  }
  const chosen = (rows) => rows.reduce((best, row) => (row.validation > best.validation ? row : best));

  Object.assign(globalThis.lpsvdd, { gram, atCost, atShare, hardBall, familyOfOne, nearestOne, rankCorrelation, auc, cells, judged, chosen, apart, falling });
})();
