"""Options of a program that are known to be harmless."""

from __future__ import annotations

from msgspec import Struct


class KnownOptions(Struct, frozen=True):
    """Options, of GNU and BSD, that only change how something is read or shown."""

    #: Letters without a value.
    flags: str = ""
    #: Letters with a value that is not a file.
    valued: str = ""
    #: Whole words. After `=` a value is attached: in a word of its own it would hide what that word is.
    words: str = ""

    def hold(self, option: str) -> bool:
        if option.startswith("--"):
            name, equals, _ = option.partition("=")
            return f"{name}{equals}" in self.words.split()
        if option in self.words.split():
            return True
        for letter in option[1:]:
            if letter in self.valued:
                return True
            if letter not in self.flags:
                return False
        return True
