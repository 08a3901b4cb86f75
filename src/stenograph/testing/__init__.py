"""For tests of Stenograph and of tools built on it: lines of session files built by hand, and a scripted Messages API.

Shipped with the package, standard library only. Nothing in the library imports it.
"""
