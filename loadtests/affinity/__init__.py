"""Which replica gets which prompt, measured on traces: the real choice and index, simulated replicas, a virtual clock."""
