"""Measuring ranking quality on a vault with judged queries: index, search, compute metrics, report."""

from vaultseek.tools.evaluate.judgements import JudgedQuery, read_queries
from vaultseek.tools.evaluate.report import as_json, as_text
from vaultseek.tools.evaluate.run import Report, evaluate
from vaultseek.tools.evaluate.variants import Variant, variants
from vaultseek.tools.evaluate.vault import cache_directory, measured_vault

__all__ = [
    "JudgedQuery",
    "Report",
    "Variant",
    "as_json",
    "as_text",
    "cache_directory",
    "evaluate",
    "measured_vault",
    "read_queries",
    "variants",
]
