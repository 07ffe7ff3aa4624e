r"""The problem in coordinates of its centre: for multipliers so large that kernel sums cancel.

With inseparable negatives and a large p or c the multipliers reach 1e17, and 1e88 at p = 100, while
the centre a = sum_i alpha_i y_i phi_i stays where the points are. Neither a nor distances can be
had from such alpha in double precision. With coordinates z_i about the mean of the points
(``Gram.features``) the centre is a short vector w, and

    s_i = y_i (d_i - R2) = y_i (||z_i||^2 - 2 w'z_i - b),      b = R2 - ||w||^2,

has all its digits. The method is that of ``_interior_point``, with w as an unknown of its own and
w = Z'beta as an equation: a least-squares problem with r + 1 columns an iteration.

**Units of alpha.** Multipliers are divided by M, their sum at the start; what was 1 in the problem,
y'alpha = 1 and w = Z'beta, becomes kappa = 1/M. Only log M is used, so alpha may have any size.

**The way there.** From the weighted mean, where alpha may be larger than at the end by 1e100, one
walks through smaller exponents (costs with the same c^(1/p)), each starting at the centre of the
one before. Near p = 1 costs beyond effect are lowered first (``Problem.hardened``): they would let
multipliers of points on the surface grow without use.
"""

from __future__ import annotations

import copy
import itertools
import math

import numpy as np
from scipy.linalg import qr, solve_triangular

from lpsvdd.solver._arithmetic import Value
from lpsvdd.solver._centre import RELATIVE, evaluate_centre, scaled_features
from lpsvdd.solver._interior_point import Step, interior, without_dust
from lpsvdd.solver._problem import Problem
from lpsvdd.solver._radius import LOG_MAX, TINY

MOST_MULTIPLIERS = (30.0, 1e4, math.inf)  # guesses of sum alpha, for ``Problem.hardened``
PATIENCE = 12  # iterations without progress
LARGEST_STEP = 3.0  # of the exponent, from one stage to the next
SQRT2 = math.sqrt(2.0)


@np.errstate(all="ignore")  # a step into overflow is refused, not warned about
def solve_in_features(
    problem: Problem, tol: float, max_iter: int, polish: int
) -> tuple[Value, int]:
    """The best value found (``evaluate_centre``), and iterations."""
    w = problem.weighted_mean() @ problem.gram.features.Z
    best: Value | None = None
    n_iter, before = 0, None
    alphas: list[np.ndarray] = []
    centres: list[tuple[np.ndarray, float]] = []
    for most in MOST_MULTIPLIERS:
        easier = problem.hardened(most) if math.isfinite(most) else problem
        if before is not None and easier.log_rate is before.log_rate:
            continue
        before = easier
        for p in stages(problem.p):
            is_last = p == problem.p
            here = InFeatures(easier.with_exponent(p), w)
            more = here.run(*((tol, polish) if is_last else (1e-2, 0)), max_iter - n_iter)
            n_iter += more
            w = here.centre
        # Lowered costs give the better alpha, the true ones the better centre: try all pairs.
        alphas += here.multipliers()
        centres.append((w, here.b))
        for alpha, centre in itertools.product(alphas, centres):
            value = evaluate_centre(problem, alpha, *centre)
            if best is None or abs(value.gap) < abs(best.gap):
                best = value
        assert best is not None
        if abs(best.gap) <= tol or n_iter >= max_iter:
            break
    assert best is not None  # the first guess is always tried
    return best, n_iter


def stages(p: float) -> list[float]:
    """Exponents on the way to p, from one not above 4."""
    stages = [p]
    while stages[0] > 4.0:
        stages.insert(0, max(stages[0] / LARGEST_STEP, 2.0))
    return stages


class InFeatures:
    """The interior-point method from a centre given in units of K.

    Of the coordinates Z only products with vectors are asked for, and what ``system`` makes of
    them: ``_normal`` has a subclass for coordinates that are too many for a QR factorisation.
    """

    patience = PATIENCE

    def __init__(self, problem: Problem, centre: np.ndarray) -> None:
        self.y, self.unit = problem.y, math.sqrt(problem.inv_scale)
        self.Z, self.diag = self.coordinates(problem)
        self.w = centre * self.unit
        levels = self._levels()
        self.b, _ = problem.best_radius(levels)
        signed = self.y * (levels - self.b)
        outside = signed > 0.0
        log_alpha = problem.log_rate + (problem.p - 1.0) * np.log(np.maximum(signed, TINY))
        self.log_unit = 0.0  # log M
        if outside.any():
            self.log_unit = max(0.0, float(np.logaddexp.reduce(log_alpha[outside])))
        self.kappa = math.exp(-self.log_unit)
        self.problem = copy.copy(problem)
        self.problem.log_rate = problem.log_rate - self.log_unit
        self.problem.cost = np.exp(np.log(problem.cost) - self.log_unit)
        alpha = np.where(outside, np.exp(np.minimum(log_alpha - self.log_unit, 0.0)), 0.0)
        self.point = self.start(alpha, signed)

    def coordinates(self, problem: Problem) -> tuple:
        """Coordinates and diagonal of the points, in scaled units."""
        return scaled_features(problem)

    def start(self, alpha: np.ndarray, signed: np.ndarray) -> np.ndarray:
        """An interior point near alpha and the slacks of the centre."""
        return interior(self.problem, alpha, signed, 0.1 / self.problem.n)

    def sums(self, v: np.ndarray) -> np.ndarray:
        """Z'v."""
        return self.Z.T @ v

    def system(self, Z, kappa, diagonal, off_centre, missing):
        """The equations of a step, to be solved."""
        return FeatureSystem(Z, kappa, diagonal, off_centre, missing)

    @property
    def centre(self) -> np.ndarray:
        """w in units of K."""
        return self.w / self.unit

    def multipliers(self) -> list[np.ndarray]:
        """alpha in its own units: without dust, and (p > 1) as the slacks of the centre have it."""
        signed = self.y * (self._levels() - self.b)
        found = [without_dust(self.problem, self.point[0], signed)]
        if not self.problem.is_boxed:
            found.append(self.problem.multipliers(signed))
        return [np.exp(np.minimum(np.log(alpha) + self.log_unit, LOG_MAX)) for alpha in found]

    def _levels(self) -> np.ndarray:
        """d_i - ||w||^2."""
        return self.diag - 2.0 * (self.Z @ self.w)

    def run(self, tol: float, polish: int, max_iter: int) -> int:
        """Iterate until the gap is a tenth of ``tol``; returns the number of iterations."""
        problem, kappa = self.problem, self.kappa
        best = (math.inf, self.point, self.w, self.b)
        since_best = iteration = 0
        while True:
            alpha, z, u, g = self.point
            beta = self.y * alpha
            signed = self.y * (self._levels() - self.b)
            off_centre = self.sums(beta) - kappa * self.w
            missing = kappa - float(beta.sum())
            penalty = problem.penalty(signed)
            primal = kappa * (self.b + self.w @ self.w) + penalty
            gap = problem.excess(alpha, signed, penalty) / (kappa + abs(primal))
            apart = max(float(np.abs(off_centre).max(initial=0.0)), abs(missing)) / alpha.sum()
            merit = max(abs(gap), apart)
            if merit < 0.7 * best[0]:
                since_best = 0
            else:
                since_best += 1
            if merit < best[0]:
                best = (merit, self.point, self.w, self.b)
            if merit <= 0.1 * tol and apart <= max(RELATIVE, 1e-3 * tol):
                if polish == 0:
                    break
                polish -= 1
            if iteration >= max_iter or since_best > self.patience or not math.isfinite(merit):
                break
            products = float(alpha @ u + z @ g)
            if not products > 0.0:
                break
            step = Step(problem, self.point, signed)
            try:
                system = self.system(self.Z, kappa, step.diagonal, off_centre, missing)
            except ValueError:  # numbers beyond floats
                break
            move, db, length = step.take(system, products)
            if not (length > 1e-10 and math.isfinite(db)):
                break
            iteration += 1
            self.point = self.point + length * move
            self.b += length * db
            self.w = self.w + length * system.dw
        _, self.point, self.w, self.b = best
        return iteration


class FeatureSystem:
    r"""The equations of ``Step`` with 2K d beta replaced by 2Z dw:

        2Z dw + 1 db + D d beta = right,   kappa dw = Z'd beta + off_centre,   1'd beta = missing.

    Without d beta they are normal equations: with A = D^(-1/2) [sqrt(2) Z, 1] and
    x = (sqrt(2) dw, db), (A'A + diag(kappa, ..., kappa, 0)) x = A' D^(-1/2) right + (sqrt(2)
    off_centre, -missing). They are solved by QR of A with sqrt(kappa) I below it, columns pivoted
    and rows in descending order, since D ranges over many orders of magnitude.
    """

    def __init__(self, Z, kappa, diagonal, off_centre, missing) -> None:
        n, r = Z.shape
        self.Z, self.kappa, self.diagonal = Z, kappa, diagonal
        self.root = np.sqrt(diagonal)
        stacked = np.zeros((n + r, r + 1))
        stacked[:n, :r] = SQRT2 * Z
        stacked[:n, r] = 1.0
        stacked[:n] /= self.root[:, None]
        stacked[n:].flat[:: r + 2] = math.sqrt(kappa)
        self.order = np.argsort(-np.abs(stacked).max(axis=1), kind="stable")
        self.Q, self.R, self.pivots = qr(stacked[self.order], mode="economic", pivoting=True)
        self.shift = np.append(SQRT2 * off_centre, -missing)
        self.dw = np.zeros(r)

    def __call__(self, right: np.ndarray) -> tuple[np.ndarray, float]:
        r = self.Z.shape[1]
        x = self._solve(right / self.root, self.shift)
        d_beta = self._d_beta(right, x)
        # One step of refinement of the two equations that d beta has to meet.
        left = self.shift + np.append(
            SQRT2 * (self.Z.T @ d_beta) - self.kappa * x[:r], float(d_beta.sum())
        )
        x += self._solve(np.zeros_like(right), left)
        self.dw = x[:r] / SQRT2
        return self._d_beta(right, x), float(x[r])

    def _d_beta(self, right: np.ndarray, x: np.ndarray) -> np.ndarray:
        return (right - SQRT2 * (self.Z @ x[:-1]) - x[-1]) / self.diagonal

    def _solve(self, upper: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """x of the normal equations with right side A' upper + shift."""
        padded = np.append(upper, np.zeros(self.Z.shape[1]))[self.order]
        t = self.Q.T @ padded + solve_triangular(self.R, shift[self.pivots], trans="T")
        x = np.empty(len(t))
        x[self.pivots] = solve_triangular(self.R, t)
        return x
