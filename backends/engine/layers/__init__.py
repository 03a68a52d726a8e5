"""The mathematics of one layer, each file one operation. Knows tensors, not files and not scheduling."""
