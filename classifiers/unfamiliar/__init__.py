"""What no estimate is made of."""
