"""Terms of the expected cost of a candidate: money, quality and time in one currency, micro-dollars."""
