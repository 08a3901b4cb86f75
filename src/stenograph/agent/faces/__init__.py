"""Faces show a conversation. Each consumes events, and nothing else of the agent."""
