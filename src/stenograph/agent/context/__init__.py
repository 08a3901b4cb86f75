"""What the model is given besides the conversation: system prompt, memory, git, and what is known of models."""
