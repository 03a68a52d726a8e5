"""Pressure: open-loop drivers that measure us and a peer in one run. Results stand in LEDGER.md."""
