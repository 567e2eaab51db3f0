"""Foundations of every other room: errors' limits, paths, texts, values."""
