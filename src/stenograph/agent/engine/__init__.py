"""Prompts in, turns out: conversations, sub-agents, background tasks."""
