"""What should happen. Pure: no I/O, no clock, no random numbers; they arrive as values."""
