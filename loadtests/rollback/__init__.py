"""How many requests a bad canary gets before it is taken back."""
