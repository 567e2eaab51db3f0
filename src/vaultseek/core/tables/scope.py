"""The scope in which an expression is evaluated: file, time, formulas and budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from vaultseek.base.limits import TABLE_SECONDS, TABLE_VALUES_CHARS
from vaultseek.core.tables.files import File, VaultFiles
from vaultseek.core.tables.values import FormulaError, Value, size_of
from vaultseek.errors import Cancelled, UsageError

STEPS_BETWEEN_CHECKS, PROPERTY_STEPS, PATTERN_STEPS = 256, 64, 64


class Budget:
    """The limits for one table: computing time and total size of its values.

    Evaluation also ends when the request is cancelled.
    """

    def __init__(self, seconds: float = TABLE_SECONDS, cancelled: Callable[[], bool] = lambda: False) -> None:
        self._seconds = seconds
        self._cancelled = cancelled
        self._end = time.monotonic() + seconds
        self._steps = 0
        self._kept = 0

    def keep(self, value: Value) -> Value:
        """Count a value towards the total size of the table's values, and return it. Raises FormulaError if
        the total is too large.
        """
        size = size_of(value)
        if self._kept + size > TABLE_VALUES_CHARS:
            raise FormulaError(f"the table's values contain more than {TABLE_VALUES_CHARS:,} characters")
        self._kept += size
        return value

    def spend(self, steps: int = 1) -> None:
        """Count computing steps. Raises UsageError if the time limit is exceeded, or Cancelled if the request
        was cancelled.
        """
        self._steps += steps
        if self._steps >= STEPS_BETWEEN_CHECKS:
            self._steps = 0
            if self._cancelled():
                raise Cancelled("no client is waiting for the table any more; try again")
            if time.monotonic() > self._end:
                seconds = f"{self._seconds:.0f} s"
                raise UsageError(f"the table takes longer than {seconds}; add a filter by tag or folder")


def has_property(vault: VaultFiles, budget: Budget, name: str) -> bool:
    """Return True if any note has a property with this name. This is slow in a large vault.

    Raises the same errors as ``Budget.spend``.
    """
    budget.spend(PROPERTY_STEPS)
    return vault.has_property(name)


@dataclass(slots=True)
class Surroundings:
    """Values that all rows of a table share. ``this`` is the note or base that contains the table."""

    now: datetime
    budget: Budget
    this: File | None = None
    formulas: Mapping[str, Compiled] = field(default_factory=dict)


class Scope:
    """Scope for evaluating expressions on one file, with the formula values computed so far."""

    __slots__ = ("_formulas", "around", "file", "locals")

    def __init__(self, file: File, around: Surroundings) -> None:
        self.file = file
        self.around = around
        self.locals: dict[str, Value] = {}
        self._formulas: dict[str, Value] = {}

    def formula(self, name: str) -> Value:
        """Return the value of the formula ``name`` for the file. Raises FormulaError if it has no value."""
        if name not in self._formulas:
            self._formulas[name] = FormulaError(f"the formula {name} refers to itself")
            outer, self.locals = self.locals, {}
            try:
                self._formulas[name] = self.around.budget.keep(self.around.formulas[name](self))
            except FormulaError as error:
                # Do not store the error itself, because its frames would keep every value alive.
                self._formulas[name] = type(error)(str(error))
            finally:
                self.locals = outer
        value = self._formulas[name]
        if isinstance(value, FormulaError):
            raise value.with_traceback(None)
        return value


Compiled = Callable[[Scope], Value]
