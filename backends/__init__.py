"""What can answer: servers over HTTP and engines in this process. Knows nothing of routing."""
