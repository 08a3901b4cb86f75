"""The console: events of a session in, a terminal out; keys in, prompts out.

The transcript is ordinary scrollback; only the lines below it are redrawn. `painter` makes lines of events, `screen` puts them on
a terminal with prompt_toolkit, `plain` writes them for screen readers, `desk` connects either with the agent. prompt_toolkit and
rich are imported only here, when a console is opened.
"""
