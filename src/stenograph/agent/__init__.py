"""The console client: loop, tools, permissions, recorder, faces."""
