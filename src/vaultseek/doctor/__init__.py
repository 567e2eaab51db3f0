"""Looking for what could keep vaultseek from working, and saying what to do about it. Changes nothing.

Works without a daemon, without a configuration and with anything broken: each check stands for itself.
"""

from vaultseek.doctor.examine import examine
from vaultseek.doctor.finding import BROKEN, OK, WARNING, Finding
from vaultseek.doctor.report import report

__all__ = ["BROKEN", "OK", "WARNING", "Finding", "examine", "report"]
