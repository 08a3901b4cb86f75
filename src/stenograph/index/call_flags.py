"""What `flags` of a row in the table of model calls says."""

FAST, US, ABORTED, FINISHED, SIDECHAIN, COPY, ADVISOR, AGENT, CUT_OFF = 1, 2, 4, 8, 16, 32, 64, 128, 256
