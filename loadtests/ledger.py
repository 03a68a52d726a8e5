"""Rows of LEDGER.md: when, what, on which machine, at which commit, and the numbers. Rows are only ever added."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

LEDGER = Path(__file__).with_name("LEDGER.md")


def commit() -> str:
    """Short id of the checked-out commit, with a + when the tree differs from it."""
    git = ["git", "-C", str(LEDGER.parent)]
    head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    dirty = subprocess.run([*git, "status", "--porcelain", "-uno"], capture_output=True, text=True, check=False)
    return (head.stdout.strip() or "unknown") + ("+" if dirty.stdout.strip() else "")


def machine() -> str:
    """Processor and cores in a few words."""
    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    return f"{os.cpu_count()} x {name}"


def add_row(what: str, workload: str, result: str) -> None:
    """Append one row to the ledger."""
    day = datetime.now(UTC).date().isoformat()
    with LEDGER.open("a") as file:
        file.write(f"| {day} | {what} | {workload} | {machine()} | {commit()} | {result} |\n")
