"""Engines on other machines, behind a common interface."""
