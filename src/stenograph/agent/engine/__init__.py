"""Prompts in, turns out: conversations, subagents, background tasks."""
