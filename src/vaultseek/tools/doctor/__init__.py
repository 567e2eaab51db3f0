"""Diagnosis of problems, with advice for each. It changes nothing.

It works without a daemon or a configuration, whatever is broken, because the checks are independent.
"""
