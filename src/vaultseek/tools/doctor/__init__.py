"""Diagnosing problems, with advice for each. Read-only.

Works without a daemon, without a configuration and with anything broken: the checks are independent.
"""
