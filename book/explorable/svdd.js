// lp-SVDD solved in the browser: the method of lpsvdd.solver.
//
//   min_{a, R2, z}  R2 + c sum_i z_i^p   s.t.  y_i (||phi(x_i) - a||^2 - R2) <= z_i,  z_i >= 0,
//
// any p >= 1, any kernel matrix, y_i = 1 for a target and -1 for a labelled outlier. Newton's method on the optimality conditions with the power law in
// logarithms; one Cholesky factorisation a step; Mehrotra's predictor and corrector. The answer carries
// its duality gap (P - D)/(1 + |P|), computed from the multipliers that are returned. For up to 150
// points it takes milliseconds.
(() => {
  "use strict";

  const squared = (x, z) => { let sum = 0; for (let j = 0; j < x.length; j++) sum += (x[j] - z[j]) ** 2; return sum; };
  const inner = (x, z) => { let sum = 0; for (let j = 0; j < x.length; j++) sum += x[j] * z[j]; return sum; };
  // exp(-gamma ||x - z||^2), or the inner product where gamma is "linear".
  const kernel = (x, z, gamma) => (gamma === "linear" ? inner(x, z) : Math.exp(-gamma * squared(x, z)));

  function gram(points, gamma) {
    const n = points.length, K = new Float64Array(n * n);
    for (let i = 0; i < n; i++) for (let j = 0; j <= i; j++) K[i * n + j] = K[j * n + i] = kernel(points[i], points[j], gamma);
    return K;
  }

  // gamma = 1/(2 s^2), s half the mean distance between points (1 where no two differ).
  function halfMeanDistanceGamma(points) {
    const n = points.length;
    let total = 0;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < i; j++) total += Math.sqrt(squared(points[i], points[j]));
    }
    const mean = total / (n * (n - 1) / 2);
    const width = mean > 0 ? 0.5 * mean : 1;
    return 1 / (2 * width * width);
  }

  function times(K, v, factor) {
    const n = v.length, out = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      let sum = 0;
      for (let j = 0, at = i * n; j < n; j++, at++) sum += K[at] * v[j];
      out[i] = sum * factor;
    }
    return out;
  }

  const dot = (a, b) => { let sum = 0; for (let i = 0; i < a.length; i++) sum += a[i] * b[i]; return sum; };
  const total = (a) => { let sum = 0; for (const value of a) sum += value; return sum; };

  // Lower Cholesky factor of 2 K factor + diag, or null.
  function factorise(K, factor, diag) {
    const n = diag.length, L = new Float64Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        let sum = 2 * K[i * n + j] * factor + (i === j ? diag[i] + 1e-14 : 0);
        for (let k = 0, a = i * n, b = j * n; k < j; k++, a++, b++) sum -= L[a] * L[b];
        if (i === j) {
          if (!(sum > 0)) return null;
          L[i * n + i] = Math.sqrt(sum);
        } else L[i * n + j] = sum / L[j * n + j];
      }
    }
    return L;
  }

  function solveWith(L, right) {
    const n = right.length, x = Float64Array.from(right);
    for (let i = 0; i < n; i++) {
      for (let k = 0, at = i * n; k < i; k++, at++) x[i] -= L[at] * x[k];
      x[i] /= L[i * n + i];
    }
    for (let i = n - 1; i >= 0; i--) {
      for (let k = i + 1; k < n; k++) x[i] -= L[k * n + i] * x[k];
      x[i] /= L[i * n + i];
    }
    return x;
  }

  // The best R2 for squared distances d: sum_i y_i c p (y_i (d_i - R2))_+^(p-1) = 1, by bisection.
  function bestRadius(d, y, p, logRate, tau, c) {
    if (p === 1 && y.some((label) => label < 0)) { // the objective is lowest at some of the distances
      const values = d.map((radius) => d.reduce((sum, value, i) => sum + c * Math.max(y[i] * (value - radius), 0), radius));
      const least = Math.min(...values), best = d.filter((_, i) => values[i] <= least + 1e-12 * (1 + Math.abs(least)));
      return 0.5 * (Math.min(...best) + Math.max(...best));
    }
    if (p === 1) { // a step function: as many points outside as the cost allows
      const sorted = Float64Array.from(d).sort().reverse();
      const outside = 1 / c, whole = Math.round(outside);
      if (Math.abs(outside - whole) < 1e-9 && whole < sorted.length) return 0.5 * (sorted[whole - 1] + sorted[whole]);
      return sorted[Math.min(Math.floor(outside), sorted.length - 1)];
    }
    let low = Math.min(...d) - tau, high = Math.max(...d);
    for (let step = 0; step < 200 && high - low > 1e-15 * (Math.abs(low) + Math.abs(high)); step++) {
      const middle = 0.5 * (low + high);
      let sum = 0;
      for (let i = 0; i < d.length; i++) {
        const slack = y[i] * (d[i] - middle);
        if (slack > 0) sum += y[i] * Math.exp(logRate + (p - 1) * Math.log(slack));
      }
      if (sum > 1) low = middle; else high = middle;
    }
    return 0.5 * (low + high);
  }

  // Primal and dual value, gap, R2 and distances of multipliers with sum y_i alpha_i = 1 (scaled units).
  function certify(problem, alpha) {
    const { K, k, y, p, c, inv, logRate, tau } = problem;
    const coef = alpha.map((value, i) => y[i] * value), kCoef = times(K, coef, inv), normSq = dot(coef, kCoef);
    const d = kCoef.map((value, i) => k[i] * inv - 2 * value + normSq);
    const radius = bestRadius(d, y, p, logRate, tau, c);
    let penalty = 0, dualPenalty = 0;
    for (let i = 0; i < d.length; i++) {
      const slack = y[i] * (d[i] - radius);
      if (slack > 0) penalty += Math.exp(logRate + p * Math.log(slack)) / p;
      if (p > 1 && alpha[i] > 0) dualPenalty += (1 - 1 / p) * alpha[i] * Math.exp((Math.log(alpha[i]) - logRate) / (p - 1));
    }
    const primal = radius + penalty, dual = inv * dot(coef, k) - normSq - dualPenalty;
    return { alpha, coef, d, radius, normSq, gap: (primal - dual) / (1 + Math.abs(primal)) };
  }

  // Multipliers as they may be: not negative, sum y_i alpha_i = 1, at most c where p = 1.
  function feasible(alpha, y, p, c) {
    const out = alpha.map((value) => (value > 0 ? (p === 1 ? Math.min(value, c) : value) : 0)), sum = dot(y, out);
    if (p > 1 || sum >= 1) return out.map((value) => value / sum);
    const room = out.map((value, i) => (value > 0 && y[i] > 0 ? c - value : 0)); // zeros stay zero
    const share = Math.min(1, (1 - sum) / (total(room) || 1)), left = 1 - sum - share * total(room);
    const negatives = total(out.filter((_, i) => y[i] < 0)), less = negatives > 0 ? 1 - left / negatives : 1;
    return out.map((value, i) => (y[i] > 0 ? value + room[i] * share : value * less));
  }

  function newton(problem, tol) {
    const { n, k, y, p, c, inv, logRate } = problem, negatives = y.filter((label) => label < 0).length;
    const K = negatives ? problem.K.map((value, at) => value * y[Math.floor(at / n)] * y[at % n]) : problem.K;
    const mean = y.map((label) => (label > 0 ? (1 + 0.1 * negatives / n) / (n - negatives) : 0.1 / n)), start = certify(problem, mean);
    let mu = Math.max(0.1 * start.gap / n, 1e-16), best = start;
    let alpha = Float64Array.from(mean), z = new Float64Array(n), u = new Float64Array(n), g = new Float64Array(n);
    let b = start.radius - start.normSq;
    const ceiling = p < 2 ? Infinity : Math.exp((Math.log(1e3) - logRate) / (p - 1));
    for (let i = 0; i < n; i++) {
      const signed = y[i] * (start.d[i] - start.radius);
      z[i] = Math.min(Math.max(signed, Math.exp((Math.log(mu) - logRate) / p)), ceiling);
      u[i] = Math.max(z[i] - signed, mu / alpha[i]);
      g[i] = Math.max(Math.exp(Math.min(logRate + (p - 1) * Math.log(z[i]), 50)) - alpha[i], mu / z[i]);
    }
    for (let iteration = 1; iteration <= 80; iteration++) {
      const kAlpha = times(K, alpha, inv), rSum = 1 - dot(y, alpha);
      const residual = new Float64Array(n), stretch = new Float64Array(n), diag = new Float64Array(n), law = new Float64Array(n);
      let products = 0;
      for (let i = 0; i < n; i++) {
        residual[i] = y[i] * (k[i] * inv - b) - 2 * kAlpha[i] + u[i] - z[i];
        const sum = alpha[i] + g[i];
        stretch[i] = z[i] / (g[i] + (p - 1) * sum);
        diag[i] = u[i] / alpha[i] + stretch[i];
        law[i] = sum * (logRate + (p - 1) * Math.log(z[i]) - Math.log(sum));
        products += alpha[i] * u[i] + g[i] * z[i];
      }
      const L = factorise(K, inv, diag);
      if (!L) break;
      const v = solveWith(L, y), vSum = dot(y, v);
      const step = (t1, t2) => { // Newton's step that aims at products alpha u = t1, g z = t2
        const right = new Float64Array(n);
        for (let i = 0; i < n; i++) {
          right[i] = residual[i] + t1[i] / alpha[i] - u[i] - stretch[i] * (t2[i] / z[i] - g[i] - law[i]);
        }
        const x = solveWith(L, right), db = (dot(y, x) - rSum) / vSum;
        const move = { alpha: new Float64Array(n), z: new Float64Array(n), u: new Float64Array(n), g: new Float64Array(n), db, reach: 1e300 };
        for (let i = 0; i < n; i++) {
          move.alpha[i] = x[i] - db * v[i];
          move.z[i] = stretch[i] * (move.alpha[i] + t2[i] / z[i] - g[i] - law[i]);
          move.u[i] = t1[i] / alpha[i] - u[i] - (u[i] / alpha[i]) * move.alpha[i];
          move.g[i] = t2[i] / z[i] - g[i] - (g[i] / z[i]) * move.z[i];
          const worst = Math.min(move.alpha[i] / alpha[i], move.z[i] / z[i], move.u[i] / u[i], move.g[i] / g[i]);
          if (worst < 0) move.reach = Math.min(move.reach, -1 / worst);
        }
        return move;
      };
      const zero = new Float64Array(n), first = step(zero, zero), reach = Math.min(1, first.reach);
      let after = 0;
      for (let i = 0; i < n; i++) {
        after += (alpha[i] + reach * first.alpha[i]) * (u[i] + reach * first.u[i]) + (g[i] + reach * first.g[i]) * (z[i] + reach * first.z[i]);
      }
      mu = Math.max((after / products) ** 3, 1e-8) * products / (2 * n);
      const move = step(first.alpha.map((value, i) => mu - value * first.u[i]), first.z.map((value, i) => mu - value * first.g[i]));
      const length = Math.min(1, 0.999 * move.reach);
      if (!(length > 1e-10) || !Number.isFinite(move.db)) break;
      for (let i = 0; i < n; i++) {
        alpha[i] += length * move.alpha[i]; z[i] += length * move.z[i];
        u[i] += length * move.u[i]; g[i] += length * move.g[i];
      }
      b += length * move.db;
      if (products < 1e4 * tol * (1 + Math.abs(b))) {
        // Points inside the ball keep a trace of the barrier: set it to zero, then certify.
        const most = Math.max(...alpha);
        const clean = alpha.map((value, i) => (value < 1e-5 * most && u[i] > z[i] ? 0 : value));
        for (const given of [clean, alpha]) {
          const found = certify(problem, feasible(given, y, p, c));
          if (Math.abs(found.gap) < Math.abs(best.gap) || !(best.gap <= tol)) best = found;
          if (best.gap <= tol) break;
        }
        if (best.gap <= 1e-3 * tol) break;
      }
    }
    return best;
  }

  // Solve with kernel matrix K (n x n, by rows) and labels; values in the units of the kernel.
  function solveMatrix(K, { p, c, labels = null, tol = 1e-9 }) {
    const n = Math.sqrt(K.length), k = Float64Array.from({ length: n }, (_, i) => K[i * n + i]);
    const y = Float64Array.from(labels ?? new Float64Array(n).fill(1)), targets = y.filter((label) => label > 0).length;
    const mean = y.map((label) => (label > 0 ? 1 / targets : 0));
    const spread = Math.max(dot(mean, k) - dot(mean, times(K, mean, 1)), 1e-13);
    const logTau = p > 1 ? -Math.log(p * c * targets) / (p - 1) : -Infinity;
    const logScale = Math.max(Math.log(spread), logTau);
    const problem = {
      n, K, k, y, p, c, inv: Math.exp(-logScale), tau: Math.exp(logTau - logScale),
      logRate: Math.log(c * p) + (p - 1) * logScale,
    };
    let found;
    if (p === 1 && c * targets <= 1 + 1e-12) { // R2 = 0, and the centre is the mean
      found = { ...certify({ ...problem, c: 1 / targets }, mean), radius: 0, gap: 0 };
    } else if (logScale > 300) found = certify(problem, mean); // the limit c -> 0
    else found = newton(problem, tol);
    const scale = Math.exp(logScale);
    return {
      p, c, alpha: found.alpha, coef: found.coef, gap: found.gap, radiusSq: found.radius * scale, normSq: found.normSq * scale,
      distances: found.d.map((value) => value * scale), converged: found.gap <= tol && found.gap >= -1e-9,
    };
  }

  // k(z, z) - 2 sum_i alpha_i k(x_i, z) + ||a||^2 for every row z.
  function distancesTo(points, found, gamma, rows) {
    const support = points.map((_, i) => i).filter((i) => found.coef[i] !== 0);
    return Float64Array.from(rows, (z) => {
      let sum = 0;
      for (const i of support) sum += found.coef[i] * kernel(points[i], z, gamma);
      return kernel(z, z, gamma) - 2 * sum + found.normSq;
    });
  }

  // The same on a grid of columns x rows; a Gaussian of the plane is a product, which saves most of the work.
  function distanceGrid(points, found, gamma, xs, ys) {
    if (gamma === "linear") return distancesTo(points, found, gamma, ys.flatMap((y) => xs.map((x) => [x, y])));
    const support = points.map((_, i) => i).filter((i) => found.coef[i] !== 0);
    const ex = support.map((i) => xs.map((x) => Math.exp(-gamma * (x - points[i][0]) ** 2)));
    const ey = support.map((i) => ys.map((y) => found.coef[i] * Math.exp(-gamma * (y - points[i][1]) ** 2)));
    const out = new Float64Array(xs.length * ys.length);
    for (let row = 0, at = 0; row < ys.length; row++) {
      for (let column = 0; column < xs.length; column++, at++) {
        let sum = 0;
        for (let k = 0; k < support.length; k++) sum += ex[k][column] * ey[k][row];
        out[at] = 1 - 2 * sum + found.normSq;
      }
    }
    return out;
  }

  globalThis.lpsvdd = { gram, kernel, squared, times, dot, factorise, solveWith, solveMatrix, distancesTo, distanceGrid, halfMeanDistanceGamma };
})();
