"""Faces: what shows a conversation to somebody. Each consumes events, and nothing else of the agent."""
