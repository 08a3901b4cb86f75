"""Turns -> spans -> any OpenTelemetry receiver, each once."""
