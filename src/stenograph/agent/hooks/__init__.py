"""Hooks of the client's settings: commands that look into a session and change its course, with the client's contract."""
