"""Diagnosing problems, with advice for each. Read-only.

Works without a daemon or configuration, whatever is broken: the checks are independent.
"""
