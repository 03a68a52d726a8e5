"""What teaches the readings that learn: run by hand, never by a gateway."""
