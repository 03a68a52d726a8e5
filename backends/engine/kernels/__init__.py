"""Native CPU kernels: one call per step, built from source at first use. See README.md."""
