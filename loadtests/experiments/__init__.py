"""Experiments under pressure: false stops, power, clusters, re-bucketing, canaries."""
