"""What another policy would have come to, from a log of choices that were drawn with known chances."""
