"""Numbers for readers agree with `.3g` wherever that has no exponent."""

import numpy as np
import pytest

from pdjax.digits import plain


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (999.4, 3, "999"), (999.6, 3, "1000"), (3571.4, 3, "3571"),
        (-12345.6, 3, "-12346"), (1e9, 3, "1000000000"), (0.0, 3, "0"),
        (9.996, 3, "10"), (0.00099951, 3, "0.001"), (4e-6, 3, "0.000004"),
        (123.4, 2, "123"), (1234.56, 5, "1234.6"),
        (np.float64(250.0), 3, "250"),
        (float("nan"), 3, "nan"), (float("inf"), 3, "inf"),
    ],
)
def test_digits_are_kept_and_no_exponent_shown(value, digits, text):
  assert plain(value, digits) == text


@pytest.mark.parametrize("value", [1.0, 0.5, 12.34, 0.012345, 7 / 3, 99.94])
def test_it_is_the_usual_form_elsewhere(value):
  assert plain(value) == f"{value:.3g}"
