r"""The lp-SVDD problem stated in CVXPY, as the paper prints it: the oracle of the tests.

With labels y_i in {+1, -1}, costs c_i, K_ij = <phi(x_i), phi(x_j)>, beta = alpha∘y, q = p/(p - 1):

    primal, Eqs. (3) and (10), with R^2 free and b = R^2 - ||a||^2 (then every constraint is
    linear in (a, b), so the problem is convex with negatives as well):

        min  b + ||a||^2 + sum_i c_i zeta_i^p
        s.t. y_i (K_ii - 2 <a, phi(x_i)> - b) <= zeta_i,   zeta_i >= 0

    dual, Eqs. (8)-(9) and (15)-(16):

        max  sum_i beta_i K_ii - beta' K beta - sum_i (1 - 1/p) (c_i p)^(-1/(p-1)) alpha_i^q
        s.t. alpha >= 0,   y' alpha = 1                     (p = 1: no power, but alpha <= c)

The statements are handed to CVXPY unscaled. At p = 32/31 and c = 1e-3 the coefficient of the power
term is near 1e91, and whatever the solver then answers is what ``ReferenceSolution.status`` says.
``scaled=True`` states an equivalent problem with numbers of order one instead (see ``_units``).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lpsvdd._validation import (
    check_costs,
    check_exponent,
    check_labels,
    check_square_kernel,
    import_extra,
)

if TYPE_CHECKING:
    import cvxpy as cp

Cones = Literal["soc", "power"]


@dataclass(frozen=True)
class ReferenceSolution:
    """Hold what CVXPY answered, failures included.

    Attributes
    ----------
    alpha : array of shape (n,), NaN where the solver returned no point. Exactly as returned: it
        may be slightly negative or miss y'alpha = 1.
    radius_sq : R^2 = b + ||a||^2, where b is a variable of the primal and the multiplier of
        y'alpha = 1 in the dual; NaN without a point.
    value : optimal value, the same number for primal and dual.
    status : CVXPY's status ("optimal", "optimal_inaccurate", "infeasible", "unbounded",
        "user_limit", ...), or "solver_error" (an exception of the solver), "not installed",
        "overflow" (a coefficient of the statement is not a finite double), "nan" (CVXPY reports
        success, but the point is not finite).
    seconds : wall clock from the matrix to the answer, CVXPY's compilation included;
        ``cpu_seconds`` the processor time of the same.
    solver_seconds, n_iter : as reported by the solver; NaN and -1 if it reports nothing.
    message : text of the exception and of the warnings raised on the way; empty if none.
    """

    alpha: np.ndarray
    radius_sq: float
    value: float
    status: str
    seconds: float
    solver: str
    message: str
    cpu_seconds: float
    solver_seconds: float = float("nan")
    n_iter: int = -1

    @property
    def ok(self) -> bool:
        """Tell whether CVXPY itself calls the answer optimal, without reservation."""
        return self.status == "optimal"


def solve_dual(
    K: np.ndarray,
    y: np.ndarray | None,
    p: float,
    c: float | np.ndarray,
    solver: str = "CLARABEL",
    *,
    scaled: bool = False,
    cones: Cones = "soc",
    power: np.ndarray | None = None,
    **options: Any,
) -> ReferenceSolution:
    r"""max sum_i beta_i K_ii - beta'K beta - sum_i (1 - 1/p)(c_i p)^(-1/(p-1)) alpha_i^q.

    Over alpha >= 0 with y'alpha = 1: Eqs. (8)-(9) without negatives, (15)-(16) with them.

    Parameters
    ----------
    K : (n, n) symmetric positive semidefinite kernel matrix.
    y : labels +1 / -1, or None for all positive.
    p : exponent in [1, inf).
    c : cost, one number or one per sample (c_1 on positives and c_2 on negatives, say).
    solver : name of a CVXPY solver: "CLARABEL", "ECOS", "SCS".
    scaled : state the equivalent problem in well-scaled units instead of the printed one.
    cones : "soc" (CVXPY's default for powers, a rational exponent as a tower of second-order
        cones) or "power" (power cones, exact exponent; Clarabel and SCS).
    power : coefficients of the alpha_i^q to use instead of those above, in the unscaled statement.
    options : passed to ``cvxpy.Problem.solve``.

    Examples
    --------
    >>> import numpy as np
    >>> from lpsvdd.reference import solve_dual
    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> round(float(solve_dual(np.outer(x, x), None, p=1.0, c=1.0).value), 4)
    1.0
    """
    cp = import_extra("cvxpy", "reference")
    K, y, costs = _validate(K, y, p, c)
    started = _clocks()
    unit, step = 1.0, np.ones(len(K))
    if p == 1.0:
        power = np.zeros(len(K))
    elif scaled:
        unit, costs = _units(K, y, p, costs)
        # alpha = step∘v, where v = zeta^(p-1) as long as c p <= 1: then v is of order one.
        step = np.minimum(1.0, costs * p)
        power = np.where(costs * p <= 1.0, (p - 1.0) * costs, _coefficients(costs, p))
    elif power is None:
        power = _coefficients(costs, p)
    if not (np.isfinite(unit) and np.isfinite(power).all()):
        return _overflow(len(K), solver, started)
    v = cp.Variable(len(K), nonneg=True)
    signed = y * step
    kernel = cp.psd_wrap(K / unit)
    objective = (signed * np.diag(K) / unit) @ v - cp.quad_form(cp.multiply(signed, v), kernel)
    constraints = [signed @ v == 1.0]
    if p == 1.0:
        constraints.append(v <= costs)
    else:
        objective -= power @ _cvx_power(v, p / (p - 1.0), cones)
    problem = cp.Problem(cp.Maximize(objective), constraints)

    def read() -> tuple[np.ndarray, float, float]:
        alpha = step * np.asarray(v.value, dtype=float)
        b = unit * float(constraints[0].dual_value)
        radius_sq = b + float((y * alpha) @ K @ (y * alpha))
        return alpha, radius_sq, unit * problem.value

    return _run(problem, solver, options, read, len(K), started)


def solve_primal(
    K: np.ndarray,
    y: np.ndarray | None,
    p: float,
    c: float | np.ndarray,
    solver: str = "CLARABEL",
    *,
    scaled: bool = False,
    cones: Cones = "soc",
    **options: Any,
) -> ReferenceSolution:
    r"""min b + ||a||^2 + sum_i c_i zeta_i^p,  y_i(K_ii - 2<a, phi_i> - b) <= zeta_i,  zeta_i >= 0.

    Eq. (3) without negatives, Eq. (10) with them, b = R^2 - ||a||^2 and R^2 free. The centre lives
    in the coordinates of a square root K = F F' (from the eigendecomposition), where phi_i is row i
    of F. ``alpha`` are the multipliers of the constraints. Parameters as in ``solve_dual``.
    """
    cp = import_extra("cvxpy", "reference")
    K, y, costs = _validate(K, y, p, c)
    started = _clocks()
    unit, costs = _units(K, y, p, costs) if scaled else (1.0, costs)
    if not (np.isfinite(unit) and np.all(np.isfinite(costs))):
        return _overflow(len(K), solver, started)
    F = _root(K / unit)
    centre, b, slack = cp.Variable(F.shape[1]), cp.Variable(), cp.Variable(len(K), nonneg=True)
    penalty = costs @ (slack if p == 1.0 else _cvx_power(slack, p, cones))
    outside = cp.multiply(y, np.einsum("ij,ij->i", F, F) - 2.0 * (F @ centre) - b) <= slack
    problem = cp.Problem(cp.Minimize(b + cp.sum_squares(centre) + penalty), [outside])

    def read() -> tuple[np.ndarray, float, float]:
        a = np.asarray(centre.value, dtype=float)
        radius_sq = float(np.asarray(b.value)) + float(a @ a)
        return np.asarray(outside.dual_value, dtype=float), unit * radius_sq, unit * problem.value

    return _run(problem, solver, options, read, len(K), started)


def _units(K: np.ndarray, y: np.ndarray, p: float, costs: np.ndarray) -> tuple[float, np.ndarray]:
    r"""S and c S^(p-1): dividing K, R^2 and zeta by S leaves alpha and the shape of the problem.

    S = T max(1, (p sum_pos c_i T^(p-1))^(-1/(p-1))) with T the largest K_ii (for a constant
    K_ii = 1 and equal costs: max(1, (n_+ p c)^(-1/(p-1)))). Slacks of order one remain.
    """
    scale = float(np.max(np.diag(K))) or 1.0
    if p == 1.0:
        return scale, costs
    log_total = np.log(p) + np.log(np.sum(costs[y > 0.0])) + (p - 1.0) * np.log(scale)
    log_unit = np.log(scale) + max(0.0, -log_total / (p - 1.0))
    with np.errstate(over="ignore"):
        return float(np.exp(log_unit)), np.exp(np.log(costs) + (p - 1.0) * log_unit)


def _run(
    problem: cp.Problem,
    solver: str,
    options: dict[str, Any],
    read: Callable[[], tuple[np.ndarray, float, float]],
    n: int,
    started: tuple[float, float],
) -> ReferenceSolution:
    """Solve, and turn whatever happens into a status and a message."""
    import cvxpy as cp

    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            problem.solve(solver=solver, **options)
            status = problem.status
        except (cp.error.SolverError, ArithmeticError, np.linalg.LinAlgError) as error:
            status = "solver_error" if solver in cp.installed_solvers() else "not installed"
            messages.append(f"{type(error).__name__}: {error}")
    messages += [str(w.message) for w in caught]
    answer = _answer(n, status, solver, started, "; ".join(dict.fromkeys(messages)))
    if status in cp.settings.SOLUTION_PRESENT:
        alpha, radius_sq, value = read()
        finite = np.isfinite(alpha).all() and np.isfinite(radius_sq)
        status = status if finite else "nan"
        answer = replace(answer, alpha=alpha, radius_sq=radius_sq, value=value, status=status)
    elif problem.value is not None:
        answer = replace(answer, value=float(problem.value))
    stats = problem.solver_stats
    return replace(
        answer,
        solver_seconds=float(getattr(stats, "solve_time", None) or np.nan),
        n_iter=int(getattr(stats, "num_iters", None) or -1),
    )


def _answer(
    n: int, status: str, solver: str, started: tuple[float, float], message: str
) -> ReferenceSolution:
    """Return no point, and the time that passed."""
    wall, cpu = (now - then for now, then in zip(_clocks(), started, strict=True))
    return ReferenceSolution(
        np.full(n, np.nan), np.nan, np.nan, status, wall, solver, message, cpu_seconds=cpu
    )


def _overflow(n: int, solver: str, started: tuple[float, float]) -> ReferenceSolution:
    message = "a coefficient of the statement is not a finite double"
    return _answer(n, "overflow", solver, started, message)


def _clocks() -> tuple[float, float]:
    """Return wall clock and processor time."""
    return time.perf_counter(), time.process_time()


def _cvx_power(x: cp.Variable, exponent: float, cones: Cones) -> cp.Expression:
    import cvxpy as cp

    if cones not in ("soc", "power"):
        raise ValueError(f"cones must be 'soc' or 'power', got {cones!r}")
    return cp.power(x, exponent) if cones == "soc" else cp.power(x, exponent, approx=False)


def _coefficients(costs: np.ndarray, p: float) -> np.ndarray:
    """(1 - 1/p) (c p)^(-1/(p-1)), inf where it is too large: the caller reports it as a status."""
    with np.errstate(over="ignore"):
        return (1.0 - 1.0 / p) * np.power(costs * p, -1.0 / (p - 1.0))


def _root(K: np.ndarray) -> np.ndarray:
    """Return F with K = F F', one column per eigenvalue above rounding."""
    values, vectors = np.linalg.eigh(K)
    keep = values > len(K) * np.finfo(float).eps * max(values[-1], 0.0)
    keep[-1] = True
    return vectors[:, keep] * np.sqrt(np.maximum(values[keep], 0.0))


def _validate(
    K: np.ndarray, y: np.ndarray | None, p: float, c: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    K = np.asarray(K, dtype=float)
    check_square_kernel(K)
    eigenvalues = np.linalg.eigvalsh(K)
    lowest = float(eigenvalues[0])
    if lowest < -1e-8 * abs(float(eigenvalues[-1])):
        raise ValueError(f"K must be positive semidefinite; its lowest eigenvalue is {lowest:.3g}")
    check_exponent(p)
    return (K + K.T) / 2.0, check_labels(y, len(K)), check_costs(c, len(K))
