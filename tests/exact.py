"""An independent answer in 60 digits: damped Newton on the primal, in coordinates of the centre.

    min_{w, b}  b + ||w||^2 + sum_i c_i (y_i (||x_i||^2 - 2 w'x_i - b))_+^p,     R2 = b + ||w||^2,

for points x_i and p >= 2. It shares no line with the solver: all numbers are mpmath's.
"""

from __future__ import annotations

from typing import NamedTuple

import mpmath as mp

DIGITS = 60


class Ball(NamedTuple):
    """Centre, squared radius and value of the primal, rounded to floats at the end."""

    centre: list[float]
    radius_sq: float
    primal: float


def exact_ball(X, y, p: float, c) -> Ball:
    """The solution for points X (rows), labels, p >= 2 and costs (a number or one each)."""
    with mp.workdps(DIGITS):
        points = [[mp.mpf(float(v)) for v in row] for row in X]
        labels = [int(v) for v in y]
        costs = [mp.mpf(float(v)) for v in (c if hasattr(c, "__len__") else [c] * len(points))]
        positive = [x for x, label in zip(points, labels, strict=True) if label > 0]
        w = [mp.fsum(column) / len(positive) for column in zip(*positive, strict=True)]
        b = mp.fsum(_level(x, w) for x in positive) / len(positive)
        theta = [*w, b]
        for exponent in _stages(mp.mpf(float(p))):
            scaled = [cost ** (exponent / p) for cost in costs]  # the same unit of slack
            theta = _newton(points, labels, exponent, scaled, theta)
        w, b = theta[:-1], theta[-1]
        value = _primal(points, labels, mp.mpf(float(p)), costs, theta)
        return Ball([float(v) for v in w], float(b + mp.fsum(v * v for v in w)), float(value))


def _stages(p):
    stages = [p]
    while stages[0] > 3:
        stages.insert(0, max(stages[0] / 2, mp.mpf(2)))
    return stages


def _level(x, w):
    return mp.fsum(v * v for v in x) - 2 * mp.fsum(a * v for a, v in zip(w, x, strict=True))


def _slacks(points, labels, theta):
    w, b = theta[:-1], theta[-1]
    return [label * (_level(x, w) - b) for x, label in zip(points, labels, strict=True)]


def _primal(points, labels, p, costs, theta):
    w, b = theta[:-1], theta[-1]
    slacks = _slacks(points, labels, theta)
    penalty = mp.fsum(cost * s**p for cost, s in zip(costs, slacks, strict=True) if s > 0)
    return b + mp.fsum(v * v for v in w) + penalty


def _newton(points, labels, p, costs, theta):
    size = len(theta)
    value = _primal(points, labels, p, costs, theta)
    for _ in range(2000):
        gradient = mp.matrix([*(2 * v for v in theta[:-1]), mp.mpf(1)])
        hessian = mp.matrix(size, size)
        for k in range(size - 1):
            hessian[k, k] = mp.mpf(2)
        slacks = _slacks(points, labels, theta)
        for x, label, cost, s in zip(points, labels, costs, slacks, strict=True):
            if s <= 0:
                continue
            direction = [*(-2 * label * v for v in x), mp.mpf(-label)]  # ds/dtheta
            first, second = cost * p * s ** (p - 1), cost * p * (p - 1) * s ** (p - 2)
            for k in range(size):
                gradient[k] += first * direction[k]
                for m in range(size):
                    hessian[k, m] += second * direction[k] * direction[m]
        step = mp.lu_solve(hessian, -gradient)
        slope = mp.fsum(gradient[k] * step[k] for k in range(size))
        if -slope <= mp.mpf(10) ** (-40) * (1 + abs(value)):
            return theta
        length = mp.mpf(1)
        while True:
            new = [theta[k] + length * step[k] for k in range(size)]
            new_value = _primal(points, labels, p, costs, new)
            if new_value <= value + mp.mpf("1e-4") * length * slope:
                break
            length /= 2
        theta, value = new, new_value
    raise AssertionError("the reference did not converge")
