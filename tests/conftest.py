"""One-expression worlds for every test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("vaultseek", deadline=None)
hypothesis.settings.load_profile("vaultseek")
"""How long an example takes says more about the machine than about the program; benchmarks measure time."""

pytest_plugins = ["raw_server"]
MakeVault = Callable[[Mapping[str, str | bytes]], Path]


@pytest.fixture
def vault(tmp_path: Path) -> MakeVault:
    """``vault({"a.md": "# A"})`` makes a folder with these files and returns it."""

    def make(files: Mapping[str, str | bytes]) -> Path:
        root = tmp_path / "vault"
        root.mkdir(exist_ok=True)
        for path, content in files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return make


@pytest.fixture(autouse=True)
def _own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may see the settings, indexes or sockets of whoever runs it."""
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
