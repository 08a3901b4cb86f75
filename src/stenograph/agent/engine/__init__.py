"""Prompts in, turns out: conversations with a model, their sub-agents and what runs in the background."""
