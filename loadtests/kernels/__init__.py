"""The native kernels alone: decode and prefill per precision, against a bare read of the same weights in the same run."""
