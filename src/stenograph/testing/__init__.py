"""For tests of Stenograph and of tools built on it: lines of session files, a scripted Messages API, and a conformance suite.

Shipped with the package, standard library only. Nothing in the library imports it.
"""
