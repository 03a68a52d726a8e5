"""What gateway processes know together. The only place that speaks Redis; knows nothing of routes or HTTP."""
