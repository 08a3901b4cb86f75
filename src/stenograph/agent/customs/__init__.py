"""What users add to the agent in files: subagents, commands and skills, of their own and of a project."""
