"""The observatory: real releases, played through scenarios, and what they wrote, trimmed to its shapes.

In: releases of the client. Out: `recordings/RELEASE/SCENARIO/`, the project folders that the clients left, with
`recordings/RELEASE/played.json` beside them. `scenes` is what the API will say, `stage` the API that says it, `print_scenarios`
and `terminal_scenarios` what is done to a client, `studio` the folders and the client of one scenario, `trim` what is kept of a
line, `recorder` all of it for one release. Judges nothing that it records.
"""
