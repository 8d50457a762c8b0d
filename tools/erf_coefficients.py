"""Prints the coefficients of viva/tensor/erf-inl.h: Chebyshev fits in 40 digits. Needs mpmath."""

from mpmath import chebyfit, erf, erfc, exp, mp, mpf, pi, sqrt

mp.dps = 40


def near(z):
    """erf(x) / x as a function of z = x²."""
    return erf(sqrt(z)) / sqrt(z) if z > 0 else 2 / sqrt(pi)


def far(t):
    """exp(x²) · erfc(x) as a function of t = 1 / (1 + x/2)."""
    x = 2 * (1 / t - 1)
    return exp(x * x) * erfc(x)


def t_of(x):
    return 1 / (1 + mpf(x) / 2)


for name, function, interval, degree in (
    ("near, float32", near, (0, 1), 6),
    ("far, float32", far, (t_of(4), t_of(1)), 7),
    ("near, float64", near, (0, 1), 12),
    ("far, float64", far, (t_of(6), t_of(1)), 14),
):
    coefficients, error = chebyfit(function, interval, degree + 1, error=True)
    print(f"{name}: error {float(error):.1e}")
    print(", ".join(mp.nstr(c, 18) for c in reversed(coefficients)))
