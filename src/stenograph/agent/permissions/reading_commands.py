"""Shell commands that only read: they need no rule, as in the client.

Commands and options are listed. Anything else may write, run a program, or follow links out of the folders, and needs a rule.
So does git, whose repository configuration names programs that even `git status` runs, and `diff`, which follows links.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from stenograph.agent.permissions.shell_parts import Part, split_command


class _Options(Struct, frozen=True):
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


#: They open no file.
_SAYING = {
    "basename": _Options("az", "s"),
    "date": _Options("u"),
    "dirname": _Options("z"),
    "false": _Options(),
    "pwd": _Options("LP"),
    "sleep": _Options(),
    "tr": _Options("cCdst"),
    "true": _Options(),
    "uname": _Options("asnrvmpio", words="--all"),
    "which": _Options("a"),
    "whoami": _Options(),
}
_NUMBERS = "0123456789"
_GREP = _Options(
    "EFGPabchHiIlLnoqrsvwxyzT" + _NUMBERS,
    "ABCme",
    "--recursive --line-number --ignore-case --files-with-matches --files-without-match --count --only-matching --invert-match"
    " --word-regexp --line-regexp --extended-regexp --fixed-strings --basic-regexp --perl-regexp --no-messages --quiet --silent"
    " --with-filename --no-filename --text --null --color --color= --include= --exclude= --exclude-dir= --max-count= --context="
    " --after-context= --before-context= --regexp= --binary-files=",
)
#: They read the named files, and follow no links inside a folder.
_SHOWING = {
    "cat": _Options("AbeEnstTuv", words="--number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank"),
    "cmp": _Options("bls", "in", "--silent --quiet --verbose --print-bytes"),
    "comm": _Options("123iz", words="--check-order --nocheck-order --total --output-delimiter="),
    "cut": _Options(
        "nsz", "bcdf", "--complement --only-delimited --bytes= --characters= --delimiter= --fields= --output-delimiter="
    ),
    "df": _Options("ahHiklPT", words="--all --human-readable --inodes --local --print-type --total"),
    "du": _Options(
        "abchklmsSx0", "dt",
        "--all --apparent-size --bytes --human-readable --one-file-system --summarize --total --max-depth= --exclude="
        " --threshold=",
    ),
    "egrep": _GREP,
    "fgrep": _GREP,
    "find": _Options(words=(
        "-P -a -amin -and -atime -cmin -ctime -daystart -depth -empty -executable -false -group -iname -inum -ipath -iregex"
        " -iwholename -links -ls -maxdepth -mindepth -mmin -mount -mtime -name -newer -newermt -nogroup -not -nouser -o -or -path"
        " -perm -print -print0 -printf -prune -quit -readable -regex -regextype -size -true -type -user -wholename -writable"
        " -xdev"
    )),
    "grep": _GREP,
    "head": _Options("qvz" + _NUMBERS, "nc", "--lines= --bytes= --quiet --silent --verbose"),
    "ls": _Options(
        "aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1",
        words="--all --almost-all --author --classify --color --color= --directory --file-type --full-time"
        " --group-directories-first --human-readable --ignore= --hide= --indicator-style= --inode --literal --no-group"
        " --numeric-uid-gid --quote-name --recursive --reverse --si --size --sort= --time= --time-style= --width=",
    ),
    "nl": _Options("p", "bdfhilnsvw"),
    "od": _Options("abcdfhilosxv", "AjNtS", "--address-radix= --format= --read-bytes= --skip-bytes= --output-duplicates"),
    "readlink": _Options("efmnqsvz"),
    "realpath": _Options("emqsz"),
    "rev": _Options(),
    "rg": _Options(
        "abcFHIilNnoPpqSsUuvwx0.", "ABCmMegtTrdjE",
        "--files --type-list --hidden --no-hidden --no-ignore --no-ignore-vcs --no-heading --heading --count --count-matches"
        " --line-number --no-line-number --ignore-case --smart-case --case-sensitive --files-with-matches --files-without-match"
        " --multiline --multiline-dotall --fixed-strings --word-regexp --line-regexp --invert-match --only-matching --json"
        " --stats --no-filename --with-filename --no-messages --no-config --vimgrep --trim --null --column --pcre2 --text"
        " --pretty --quiet --no-follow --unrestricted --color= --colors= --glob= --iglob= --type= --type-not= --max-count="
        " --max-depth= --max-columns= --max-filesize= --context= --after-context= --before-context= --replace= --regexp="
        " --sort= --sortr= --threads= --encoding=",
    ),
    "sort": _Options(
        "bcCdfghiMmnRrsuVz", "kt", "--reverse --numeric-sort --unique --ignore-case --key= --field-separator= --stable"
    ),
    "stat": _Options("ft", "c", "--terse --file-system --format= --printf="),
    "tac": _Options("br", "s"),
    "tail": _Options("qvz" + _NUMBERS, "nc", "--lines= --bytes= --quiet --silent --verbose"),
    "wc": _Options("cmlLw", words="--lines --words --bytes --chars --max-line-length"),
}  # fmt: skip
#: `-v` runs what is in a subscript, `%n` sets a variable that may be PATH, and numbers are evaluated by some shells.
_FORMAT = re.compile(r"(?:[^%]|%[-0-9.]*[sb]|%%)*", re.DOTALL)
#: Of `find`: `-mtime -1`, `-size -10k`, `-perm -644`.
_AMOUNT = re.compile(r"-\d+[bcwkMG]?")
_SECONDS = re.compile(r"\d+(?:\.\d+)?[smh]?")


def leads_to(part: Part) -> str | None:
    """The folder that a `cd` names; None for any other command."""
    match part.words:
        case ("cd", target) if part.is_literal and target and not target.startswith("-"):
            return target
    return None


def is_reading(part: Part, is_inside: Callable[[str], bool], may_read_files: bool = True) -> bool:
    """Whether a command only reads files that are inside; `is_inside` is asked about each word."""
    name, *arguments = part.words
    if not part.is_literal:
        return False
    if name == "echo":
        return True
    if name == "printf":
        return bool(arguments) and not arguments[0].startswith("-") and _FORMAT.fullmatch(arguments[0]) is not None
    if (options := _SAYING.get(name)) is not None:
        return _are_known(name, arguments, options) and _are_harmless(name, arguments)
    options = _SHOWING.get(name) if may_read_files else None
    if options is None or not _are_known(name, arguments, options):
        return False
    # Which words are files, and which are option values, differs between systems.
    return all(is_inside(word) for word in arguments)


def only_reads(command: str) -> bool:
    """Whether a whole command line only reads, wherever that is."""
    parts = split_command(command) or []
    return bool(parts) and all(is_reading(part, lambda _: True) for part in parts)


def _are_known(name: str, arguments: list[str], options: _Options) -> bool:
    # Also behind `--`: what ends options here may be a value there.
    given = [word for word in arguments if word.startswith("-") and word not in ("-", "--")]
    return all(options.hold(word) or (name == "find" and _AMOUNT.fullmatch(word)) for word in given)


def _are_harmless(name: str, arguments: list[str]) -> bool:
    match name:
        case "date":  # it sets the clock
            return all(word == "-u" or word.startswith("+") for word in arguments)
        case "sleep":
            return all(_SECONDS.fullmatch(word) for word in arguments)
        case "which":  # it would look up a path
            return not any("/" in word for word in arguments)
    return True
