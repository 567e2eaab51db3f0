#!/usr/bin/env python3
"""Generate docs/configuration.md and config.toml.example from the settings models."""

from __future__ import annotations

from pathlib import Path

from vaultseek.settings.reference import example, reference

ROOT = Path(__file__).parents[1]

if __name__ == "__main__":
    for name, text in (("docs/configuration.md", reference()), ("config.toml.example", example())):
        (ROOT / name).write_text(text, encoding="utf-8")
        print(f"written: {name}")
