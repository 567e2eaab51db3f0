"""Scores that are compared up to rounding: sums in another order differ in their last places."""

TOLERANCE = 1.5e-6
"""An answer has six places, so equal scores may differ by one in the last."""


class Near(float):
    """A score that equals every other one within ``TOLERANCE``."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float | int) and abs(float(self) - float(other)) <= TOLERANCE

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment] # equality is not transitive
