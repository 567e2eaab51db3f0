"""Scores compared with a tolerance for rounding: adding in a different order changes the last places of a
sum."""

TOLERANCE = 1.5e-6
"""Maximum difference of equal scores; an answer has six places, so the last may differ by one."""


class Near(float):
    """A score that equals any other within ``TOLERANCE``."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float | int) and abs(float(self) - float(other)) <= TOLERANCE

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment] # equality is not transitive
