"""Measuring ranking quality on a vault with judged queries: index, search, compute metrics, report."""

from vaultseek.tools.evaluate.judgements import JudgedQuery, read_queries
from vaultseek.tools.evaluate.report import as_json, as_text
from vaultseek.tools.evaluate.run import Report, cache_directory, evaluate
from vaultseek.tools.evaluate.variants import Variant, variants

__all__ = [
    "JudgedQuery",
    "Report",
    "Variant",
    "as_json",
    "as_text",
    "cache_directory",
    "evaluate",
    "read_queries",
    "variants",
]
