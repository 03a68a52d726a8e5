"""Everything that is asked of the gateway but an answer of a model."""
