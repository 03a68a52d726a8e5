"""Wire formats: each reads a client's body into the neutral request and writes neutral events for that client."""
