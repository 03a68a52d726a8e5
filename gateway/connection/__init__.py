"""A client's connection: from bytes to requests, from answers to bytes, and how long each of them is waited for."""
