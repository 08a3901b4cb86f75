"""What the model gets besides the conversation."""
