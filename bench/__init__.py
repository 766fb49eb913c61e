"""The benchmark: ``python -m bench`` measures the engine beside its peers and writes docs/benchmark.md."""
