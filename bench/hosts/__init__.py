"""The hosts that are measured: one process each, driven over a pipe."""
