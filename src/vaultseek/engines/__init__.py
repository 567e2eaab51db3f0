"""Engines on other machines, each behind the port."""
