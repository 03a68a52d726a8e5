"""What operators see of requests: spans, metrics and one log line each. Counts and reasons, never text or keys."""
