"""A one-line description of the machine that the figures are from."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

import psutil

FEATURES = {
    "avx512_bf16": "bf16",
    "avx512_vnni": "VNNI",
    "amx_tile": "AMX",
    "avx2": "AVX2",
    "avx512f": "AVX-512",
}


def describe() -> str:
    """Return processor, cores, memory and the relevant versions."""
    memory = f"{psutil.virtual_memory().total / 2**30:.0f} GB"
    software = f"{platform.system()}, Python {platform.python_version()}, torch {version('torch')}"
    load = f"load {os.getloadavg()[0]:.1f} from other programs at the start"
    return f"{processor()}, {cores()} cores, {memory}, {software}, {load}"


def cores() -> int:
    """Return the number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """Return the name of the processor and its instruction sets for low-precision numbers."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    values = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {key.strip(): value.strip() for key, value in values.items()}
    flags = set(fields.get("flags", "").split())
    features = [name for flag, name in FEATURES.items() if flag in flags]
    return fields.get("model name", platform.machine()) + (f" ({', '.join(features)})" if features else "")
