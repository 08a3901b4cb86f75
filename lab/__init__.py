"""The development tree: real clients, recordings and trace receivers, for tests, scripts and benchmarks. Not shipped."""
