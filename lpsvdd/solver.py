r"""A primal-dual interior-point method for lp-SVDD, every p in [1, inf), with its certificate.

In the scaled problem (see ``problem``) the optimality conditions in alpha, slack z, constraint
slack u, multiplier g of z >= 0 and b = R2 - ||a||^2 are, for all i,

    y_i (K_ii - 2 (K beta)_i - b) + u_i = z_i,   y'alpha = 1,   beta = y * alpha,
    log(alpha_i + g_i) = log(c_i p) + (p - 1) log z_i,
    alpha_i u_i = mu,   g_i z_i = mu,   mu -> 0.

Taking the power law in logarithms is what makes one method serve p = 1.001 and p = 100: its
linearisation is exact in relative terms. Eliminating u, z and g from Newton's equations leaves

    (2K + diag(u/alpha + z/(g + (p-1)(alpha + g)))) dbeta + 1 db = r,   1'dbeta = 1 - y'alpha:

one Cholesky factorisation an iteration, in any label pattern. Mehrotra's predictor and corrector
choose mu. The method stops on the duality gap, never on "it stopped changing".

Before any factorisation the fixed-point map "centre -> best radius -> slack -> multipliers" is
tried: for small c it contracts and a matrix-vector product or two solve the problem.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs
from sklearn.exceptions import ConvergenceWarning

from lpsvdd.base import check_labels
from lpsvdd.problem import Gram, Problem, Value, check_costs

STEP = 0.995  # fraction of the way to the boundary
FIXED_POINT_STEPS = 6
ROUGH = 1e-10  # how well R2 is known at a start; the gap holds for any R2


@dataclass(frozen=True)
class Solution:
    """A solved problem with its certificate.

    ``alpha`` (n,), ``radius_sq`` (may be <= 0), ``slack`` (n,), ``primal`` and ``dual`` are in the
    units of K; ``gap`` = (P - D)/(1 + |P|) of the scaled problem; ``status`` is "optimal",
    "radius-zero" (p = 1 and sum of positive costs <= 1) or "not-converged".
    """

    alpha: np.ndarray
    radius_sq: float
    slack: np.ndarray
    primal: float
    dual: float
    gap: float
    n_iter: int
    status: str
    p: float
    c: float | np.ndarray
    c_neg: float | None = None

    @property
    def converged(self) -> bool:
        """Whether the certificate meets the tolerance asked for."""
        return self.status != "not-converged"


def solve(
    K, y=None, *, p: float, c, tol: float = 1e-9, max_iter: int = 200, polish: int = 0
) -> Solution:
    """Solve one lp-SVDD problem to a relative duality gap of ``tol``.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric positive semidefinite kernel matrix.
    y : array of shape (n,), optional
        +1 for targets, -1 for labelled outliers. None: all targets.
    p : float in [1, inf)
        Exponent of the slack.
    c : float or array of shape (n,)
        Cost of the slack, common or per sample; positive.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Most interior-point iterations.
    polish : int
        Further iterations once ``tol`` is met. The gap is quadratic in the error of alpha: a gap
        of 1e-9 leaves errors near 3e-5, and two more iterations near 1e-10.

    Returns
    -------
    Solution
        Where the gap was not reached its status says so and a ConvergenceWarning is given.
    """
    check_tolerance(tol, max_iter)
    problem = Problem(K, y, p=p, c=c)
    return _solve(problem, [], tol, max_iter, _workspace(problem.n), c, polish=polish)


def solve_path(
    K,
    y=None,
    *,
    ps: Iterable[float],
    cs: Iterable[float],
    c_neg: Iterable[float] | None = None,
    sample_weight=None,
    tol: float = 1e-9,
    max_iter: int = 200,
) -> list[Solution]:
    """Solve a whole grid on one kernel matrix, warm-started.

    The solutions come in the order of product(ps, cs, c_neg), c_neg running fastest. Costs are c
    on positives and c_neg on negatives (c_neg=None: the same c), times ``sample_weight``. K is
    checked once, and each cell starts from the neighbouring cells solved before it or from the
    weighted mean, whichever has the highest dual value.
    """
    check_tolerance(tol, max_iter)
    gram = Gram.check(K)
    n = len(gram.diag)
    y = check_labels(y, n)
    weight = 1.0 if sample_weight is None else check_costs(sample_weight, n)
    axes: list[Sequence] = [list(ps), list(cs), [None] if c_neg is None else list(c_neg)]
    work = _workspace(n)
    points = Problem(gram, y, p=2.0, c=1.0)
    solved: dict[tuple[int, ...], Solution] = {}
    for cell in itertools.product(*(range(len(axis)) for axis in axes)):
        p, c, c_minus = (axis[i] for axis, i in zip(axes, cell, strict=True))
        cost = np.where(y > 0.0, c, c if c_minus is None else c_minus) * weight
        i, j, k = cell
        neighbours = (solved.get(key) for key in ((i - 1, j, k), (i, j - 1, k), (i, j, k - 1)))
        starts = [s for s in neighbours if s is not None]
        solved[cell] = _solve(points.at(p=p, c=cost), starts, tol, max_iter, work, c, c_minus)
    return list(solved.values())


def check_tolerance(tol: float, max_iter: int) -> None:
    """Refuse tolerances and iteration limits that make no sense."""
    if not (np.isscalar(tol) and 0.0 < tol < 1.0):
        raise ValueError(f"tol must be in (0, 1), got {tol!r}")
    if not (isinstance(max_iter, (int, np.integer)) and max_iter >= 1):
        raise ValueError(f"max_iter must be a whole number >= 1, got {max_iter!r}")


def _workspace(n: int) -> np.ndarray:
    return np.empty((n, n), order="F")  # LAPACK's order, so that the factorisation is in place


def _solve(problem, starts, tol, max_iter, work, c, c_neg=None, polish=0) -> Solution:
    """Certified solution from the best of the given starts and the weighted mean."""
    n_iter = 0
    if problem.is_radius_zero:
        certificate = problem.certificate(problem.weighted_mean())
        status = "radius-zero"
    else:
        with np.errstate(all="ignore"):  # a step into overflow is refused, not warned about
            value, n_iter = _optimise(problem, starts, tol, max_iter, work, polish)
        status = "optimal" if value.gap <= tol else "not-converged"
        certificate = problem.certificate(value)
    if status == "not-converged":
        warnings.warn(
            f"lp-SVDD (p={problem.p:g}) stopped after {n_iter} iterations at relative duality gap "
            f"{certificate.gap:.2e} > tol={tol:g}; raise max_iter or tol, or rescale the kernel",
            ConvergenceWarning,
            stacklevel=3,
        )
    return Solution(
        certificate.alpha,
        certificate.radius_sq,
        certificate.slack,
        certificate.primal,
        certificate.dual,
        certificate.gap,
        n_iter,
        status,
        problem.p,
        c,
        c_neg,
    )


def _optimise(problem: Problem, starts, tol, max_iter, work, polish) -> tuple[Value, int]:
    """Start, then Newton; first with costs that are hard constraints anyway brought in range."""
    easier = problem.hardened(1.0 if not problem.has_negatives else 30.0)
    value = _best_start(easier, starts, tol)
    n_iter = 0
    if not value.gap <= tol or (polish and value.gap > 1e-14):
        # A start near the solution deserves a small mu; should that fail, a large one is safe. The
        # first may use a quarter of the iterations, lest nothing is left for the second.
        for mu, share in ((0.1 * value.gap / problem.n, 0.25), (10.0 / problem.n, 1.0)):
            point = _interior(easier, value, max(mu, 1e-18))
            limit = math.ceil(share * (max_iter - n_iter))
            value, more = _newton(easier, point, tol, limit, work, polish)
            n_iter += more
            if value.gap <= tol or n_iter >= max_iter:
                break
    if easier is not problem:
        value = problem.evaluate(problem.feasible(value.alpha), value.radius_sq)
        if not value.gap <= tol and n_iter < max_iter:
            point = _interior(problem, value, 0.1 * max(value.gap, tol) / problem.n)
            value, more = _newton(problem, point, tol, max_iter - n_iter, work, polish)
            n_iter += more
    return value, n_iter


def _best_start(problem: Problem, starts, tol) -> Value:
    """The start with the highest dual value, improved by the fixed-point map while that helps."""
    candidates = [(problem.weighted_mean(), None)]
    candidates += [(s.alpha, s.radius_sq * problem.inv_scale) for s in starts]
    if problem.p == 1.0:
        candidates = [(problem.feasible(alpha), radius) for alpha, radius in candidates]
    alpha, radius = candidates[0]
    if starts:
        duals = [problem.dual_value(a, problem.kernel_times(problem.y * a)) for a, _ in candidates]
        alpha, radius = candidates[int(np.argmax(np.nan_to_num(duals, nan=-np.inf)))]
    # The weighted mean with little slack to come is no solution: R2 to three digits will do.
    hopeful = bool(starts) or problem.tau > 0.01
    value = problem.evaluate(alpha, radius, ROUGH if hopeful else 1e-3)
    # The map contracts only where the slack outweighs the kernel; tau says when that can be.
    for _ in range(FIXED_POINT_STEPS if problem.tau > 0.01 else 0):
        if value.gap <= 1e-3 * tol:  # a few more cheap steps give alpha digits that the gap hides
            break
        alpha = problem.multipliers(problem.y * (value.d - value.radius_sq))
        total = float(problem.y @ alpha)
        if not 0.5 < total < 2.0:
            break
        new = problem.evaluate(alpha / total, value.radius_sq, ROUGH)
        if not new.gap < 0.5 * value.gap:
            break
        value = new
    return value


def _interior(problem: Problem, value: Value, mu: float) -> tuple[np.ndarray, float]:
    """A point with all variables positive and complementarity near mu, close to the given start."""
    signed = problem.y * (value.d - value.radius_sq)
    # Inside the ball z g = mu and c p z^(p-1) = g nearly: z = (mu / (c p))^(1/p).
    z = np.maximum(signed, np.exp((math.log(mu) - problem.log_rate) / problem.p))
    if problem.p >= 2.0:
        # Multipliers above 1e3 are unheard of. A primal residual is linear and leaves at the
        # first full step; a violated power law with a large exponent does not.
        z = np.minimum(z, np.exp((math.log(1e3) - problem.log_rate) / (problem.p - 1.0)))
    alpha = np.maximum(value.alpha, mu / (np.maximum(z - signed, 0.0) + math.sqrt(mu)))
    u = np.maximum(z - signed, mu / alpha)
    rate = np.exp(np.minimum(problem.log_rate + (problem.p - 1.0) * np.log(z), 50.0))
    g = np.maximum(rate - alpha, mu / z)
    beta = problem.y * alpha
    b = value.radius_sq - float(beta @ problem.kernel_times(beta))
    return np.array([alpha, z, u, g]), b


def _newton(problem: Problem, start, tol, max_iter, work, polish) -> tuple[Value, int]:
    """Mehrotra's predictor-corrector from an interior point; returns (value, iterations)."""
    y, p = problem.y, problem.p
    point, b = start
    y_diag = y * problem.diag
    iteration = 0
    while True:
        alpha, z, u, g = point
        beta = y * alpha
        y_alpha = float(y @ alpha)
        k_beta = problem.kernel_times(beta)
        norm_sq = float(beta @ k_beta)
        signed = y_diag - y * (2.0 * k_beta + b)
        products = float(np.vdot(point[:2], point[2:]))
        # The gap holds the products alpha*u; while these are large it need not be looked at.
        if products <= 1e4 * tol * (1.0 + abs(b)):
            gap = _gap_of_point(problem, alpha, y_alpha, k_beta, b + norm_sq, signed)
            if gap <= 0.9 * tol:
                if polish == 0:
                    break
                polish -= 1
        if iteration == max_iter:
            break
        total = alpha + g
        stretch = z / (g + (p - 1.0) * total)
        factor = _factorise(problem, u / alpha + stretch, work)
        if factor is None:
            break
        iteration += 1
        r_power = total * (problem.log_rate + (p - 1.0) * np.log(z) - np.log(total))
        system = _Newton(y, factor, point, stretch, r_power, signed + u - z, 1.0 - y_alpha)
        move, _ = system.predictor()
        reach = min(1.0, _to_boundary(point, move))
        reached = point + reach * move
        reached = float(np.vdot(reached[:2], reached[2:]))
        target = max((reached / products) ** 3, 1e-8) * products / (2 * problem.n)
        # Second-order terms of the products (Mehrotra) and, as far as the step is to be trusted,
        # of the two logarithms.
        curvature = ((move[0] + move[3]) / total) ** 2 - (p - 1.0) * (move[1] / z) ** 2
        system.r_power += 0.5 * reach**2 * total * curvature
        move, db = system.direction(target - move[:2] * move[2:])
        step = min(1.0, STEP * _to_boundary(point, move))
        if not step > 1e-10 or not math.isfinite(db):
            break
        point = point + step * move
        b += step * db
    return _settle(problem, alpha, signed, b + norm_sq / y_alpha**2, tol), iteration


def _gap_of_point(problem: Problem, alpha, y_alpha, k_beta, radius, signed) -> float:
    """Relative gap of (beta, b), a primal point as it stands, and alpha / y'alpha, a dual one."""
    primal = radius + problem.penalty(signed)
    if problem.p > 1.0:
        dual = problem.dual_value(alpha / y_alpha, k_beta / y_alpha)
    else:
        boxed = problem.feasible(alpha)
        dual = problem.dual_value(boxed, problem.kernel_times(problem.y * boxed))
    return (primal - dual) / (1.0 + abs(primal))


def _settle(problem: Problem, alpha, signed, radius, tol) -> Value:
    """The certificate, without the dust that the barrier left on points inside the ball."""
    dust = (signed < 0.0) & (alpha < 1e-6 * alpha.max())
    value = problem.evaluate(problem.feasible(np.where(dust, 0.0, alpha)), radius)
    if value.gap <= tol or not dust.any():
        return value
    return problem.evaluate(problem.feasible(alpha), radius)


class _Newton:
    """One iteration's linear system: factored once, solved for predictor and corrector.

    The rows of a point are alpha, z and their partners u, g in the products alpha*u, g*z.
    """

    def __init__(self, y, factor, point, stretch, r_power, r_primal, r_sum) -> None:
        self.y, self.factor = y, factor
        self.head, self.tail = point[:2], point[2:]
        self.ratio = self.tail / self.head
        self.stretch, self.r_power, self.r_primal, self.r_sum = stretch, r_power, r_primal, r_sum

    def predictor(self) -> tuple[np.ndarray, float]:
        """Step towards zero products; the solve for the column of db goes along with it."""
        shift = -self.tail
        right = np.ones((2, len(self.y)))
        right[1] = self._right(shift)
        self.v, x = dpotrs(self.factor, right.T, lower=1)[0].T
        self.v_sum = float(self.v.sum())
        return self._move(x, shift)

    def direction(self, target) -> tuple[np.ndarray, float]:
        """Step towards head * tail = target; ``predictor`` comes first."""
        shift = target / self.head - self.tail
        x = dpotrs(self.factor, self._right(shift), lower=1, overwrite_b=1)[0]
        return self._move(x, shift)

    def _right(self, shift) -> np.ndarray:
        return self.y * (self.r_primal + shift[0] - self.stretch * (shift[1] - self.r_power))

    def _move(self, x, shift) -> tuple[np.ndarray, float]:
        db = (float(x.sum()) - self.r_sum) / self.v_sum
        move = np.empty((4, len(x)))
        np.multiply(self.y, x - db * self.v, out=move[0])
        np.multiply(self.stretch, move[0] + shift[1] - self.r_power, out=move[1])
        np.subtract(shift, self.ratio * move[:2], out=move[2:])
        return move, db


def _factorise(problem: Problem, diagonal, work):
    """Cholesky factor of 2K/s + diag; a little more is added where rounding asks for it."""
    jitter = 1e-14
    for _ in range(4):
        np.multiply(problem.gram.K, 2.0 * problem.inv_scale, out=work.T)  # K is symmetric
        work.flat[:: problem.n + 1] += diagonal + jitter
        factor, failed = dpotrf(work, lower=1, clean=0, overwrite_a=1)
        if failed == 0:
            return factor
        jitter *= 1e3
    return None


def _to_boundary(point: np.ndarray, move: np.ndarray) -> float:
    """Largest t with point + t * move >= 0."""
    worst = float((move / point).min())
    return -1.0 / worst if worst < 0.0 else math.inf
