"""The machine that figures are from, by name."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """Processor, cores that may be used, memory in GB, system, Python, and how busy it was before."""
    cpus, memory = Path("/proc/cpuinfo"), Path("/proc/meminfo")
    model = re.search(r"^model name\s*: (.*)$", cpus.read_text() if cpus.exists() else "", re.MULTILINE)
    total = re.search(r"^MemTotal:\s*(\d+) kB", memory.read_text() if memory.exists() else "", re.MULTILINE)
    return {
        "processor": model[1] if model else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": round(int(total[1]) / 1e6, 1) if total else None,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }
