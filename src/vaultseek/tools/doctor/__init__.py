"""Diagnosis of problems, with advice for each. It changes nothing.

The checks are independent, so they work whatever else is broken, even without a daemon or a configuration.
"""
