"""The Messages API client; nothing else speaks to a model."""
