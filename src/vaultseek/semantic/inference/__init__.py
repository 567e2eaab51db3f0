"""Inference, behind the process wall: imported by the worker and its children alone."""
