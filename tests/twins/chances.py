"""Twin of the chances of a win, a draw and a loss, and of their parameters learnt from games: in decimals, one by one.

The root of the quadratic is taken by its formula with digits to spare, and derivatives are differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from typing import Any

DIGITS = 30
_DELTA = Decimal("1e-6")


def expected(lead: Any, divisor: float) -> Decimal:
    """The expected score at a lead of strength."""
    with localcontext(prec=DIGITS):
        return 1 / (1 + Decimal(10) ** (-Decimal(lead) / Decimal(divisor)))


def three_way(score: Any, nu: Any, model: str) -> tuple[Decimal, Decimal, Decimal]:
    """Chances of a win, a draw and a loss at an expected score."""
    with localcontext(prec=DIGITS):
        e, nu = Decimal(score), Decimal(nu)
        f = 1 - e
        if model == "davidson":
            x = (e / f).sqrt()
        else:
            b = nu * (Decimal("0.5") - e)
            x = (-b + (b * b + 4 * e * f).sqrt()) / (2 * f)
        z = x + 1 / x + nu
        return x / z, nu / z, 1 / x / z


def own_three_way(lead: float, variance: float, margin: float) -> tuple[Decimal, Decimal, Decimal]:
    """The chances of two normal performances that draw within a margin; ``variance``: of their difference."""
    with localcontext(prec=100):
        spread = Decimal(variance).sqrt()
        ahead, behind = (normal((sign * Decimal(lead) - Decimal(margin)) / spread) for sign in (1, -1))
        return ahead, 1 - ahead - behind, behind


def normal(x: Decimal) -> Decimal:
    """The distribution function of the standard normal law, by its series."""
    term, total, k = x, Decimal(0), 1
    while abs(term) > Decimal(10) ** (-100):
        total, k = total + term, k + 2
        term = term * x * x / k
    pi = Decimal(
        "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
    )
    return Decimal("0.5") + (-x * x / 2).exp() / (2 * pi).sqrt() * total


def log_likelihood(games: Iterable[Sequence[float]], model: str, divisor: float, t: Decimal, h: Decimal) -> Decimal:
    """Of games ``[lead, score, whether the advantage holds]`` at ln nu and an advantage."""
    total, nu = Decimal(0), t.exp()
    for lead, score, holds in games:
        e = expected(Decimal(lead) + int(holds) * h, divisor)
        win, draw, loss = three_way(e, nu, model)
        total += (win if score == 1 else draw if score == 0.5 else loss).ln()
    return total


def fit(
    games: Sequence[Sequence[float]], model: str, divisor: float, nu0: float, nu_deviation: float, h_deviation: float
) -> tuple[float, float, float, float, float]:
    """nu, h, standard errors of ln nu and h, and the log-likelihood at the maximum of the posterior density."""
    with localcontext(prec=DIGITS):
        middle = Decimal(2) / 3 if nu0 == 2 / 3 else Decimal(nu0)

        def objective(t: Decimal, h: Decimal) -> Decimal:
            off = (t - middle.ln()) / Decimal(nu_deviation)
            return log_likelihood(games, model, divisor, t, h) - (off * off + (h / Decimal(h_deviation)) ** 2) / 2

        def derivatives(t: Decimal, h: Decimal) -> tuple[Decimal, ...]:
            d, f = _DELTA, objective
            here, up, down, right, left = f(t, h), f(t + d, h), f(t - d, h), f(t, h + d), f(t, h - d)
            tt, hh = up - 2 * here + down, right - 2 * here + left
            mixed = (f(t + d, h + d) + f(t - d, h - d) - 2 * here - tt - hh) / 2
            return (up - down) / (2 * d), (right - left) / (2 * d), tt / d**2, hh / d**2, mixed / d**2

        t, h = middle.ln(), Decimal(0)
        for _ in range(12):
            of_t, of_h, tt, hh, ht = derivatives(t, h)
            det = tt * hh - ht * ht
            t, h = t - (hh * of_t - ht * of_h) / det, h - (tt * of_h - ht * of_t) / det
            if abs(of_t) + abs(of_h) < Decimal("1e-9"):
                break
        errors = ((-hh / det).sqrt(), (-tt / det).sqrt())
        return tuple(map(float, (t.exp(), h, *errors, log_likelihood(games, model, divisor, t, h))))  # type: ignore[return-value]
