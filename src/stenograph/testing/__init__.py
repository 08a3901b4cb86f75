"""What tests of Stenograph, and of tools built on it, share: real clients and a scripted stand-in for the Messages API.

Shipped with the package, standard library only. Nothing in the library imports it.
"""
