"""Whether a call may run: modes, rules, and which commands only read."""
