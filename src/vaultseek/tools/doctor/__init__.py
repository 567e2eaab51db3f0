"""Diagnosing problems, with advice for each. Read-only.

Works without a daemon, without a configuration and with anything broken: the checks are independent.
"""

from vaultseek.tools.doctor.examine import examine
from vaultseek.tools.doctor.finding import BROKEN, OK, WARNING, Finding
from vaultseek.tools.doctor.report import report

__all__ = ["BROKEN", "OK", "WARNING", "Finding", "examine", "report"]
