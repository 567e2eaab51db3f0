"""The measurements of ``scripts/bench``: speed and memory of a real daemon, each compared with a
reference."""
