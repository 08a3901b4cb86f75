"""Shell commands that only read: they need no rule, as in the client.

Commands and options are listed. Anything else may write, run a program, or follow links out of the directories, and needs a rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from stenograph.agent.permissions.git_reading import reads_by_git
from stenograph.agent.permissions.known_options import KnownOptions
from stenograph.agent.permissions.shell_parts import Part, split_command

_SUM = KnownOptions("bt", words="--binary --text --tag --zero")
#: They open no file that they are given.
_SAYING = {
    "arch": KnownOptions(),
    "basename": KnownOptions("az", "s"),
    "cal": KnownOptions("13jmy"),
    "date": KnownOptions("u"),
    "dirname": KnownOptions("z"),
    "expr": KnownOptions(),
    "false": KnownOptions(),
    "free": KnownOptions("bkmghltw"),
    "groups": KnownOptions(),
    "help": KnownOptions("dms"),
    "history": KnownOptions(),
    "hostname": KnownOptions("sfdiI"),
    "id": KnownOptions("ugGnrz"),
    "ifconfig": KnownOptions("a"),
    "ip": KnownOptions(),
    "locale": KnownOptions("a"),
    "lsof": KnownOptions("nPtli"),
    "netstat": KnownOptions("antulpr"),
    "nproc": KnownOptions(),
    "pgrep": KnownOptions("flax", "u"),
    "seq": KnownOptions("w", "sf"),
    "ss": KnownOptions("tulnpas"),
    "type": KnownOptions("at"),
    "uptime": KnownOptions("ps"),
    "pwd": KnownOptions("LP"),
    "sleep": KnownOptions(),
    "tr": KnownOptions("cCdst"),
    "true": KnownOptions(),
    "uname": KnownOptions("asnrvmpio", words="--all"),
    "which": KnownOptions("a"),
    "whoami": KnownOptions(),
}
_NUMBERS = "0123456789"
_GREP = KnownOptions(
    "EFGPabchHiIlLnoqrsvwxyzT" + _NUMBERS,
    "ABCme",
    "--recursive --line-number --ignore-case --files-with-matches --files-without-match --count --only-matching --invert-match"
    " --word-regexp --line-regexp --extended-regexp --fixed-strings --basic-regexp --perl-regexp --no-messages --quiet --silent"
    " --with-filename --no-filename --text --null --color --color= --include= --exclude= --exclude-dir= --max-count= --context="
    " --after-context= --before-context= --regexp= --binary-files=",
)
#: They read the named files, and follow no links inside a folder.
_SHOWING = {
    "base64": KnownOptions("diw0123456789", words="--decode"),
    "column": KnownOptions("txn", "sco"),
    "diff": KnownOptions(
        "uwbBiyqsaptE0123456789", "UCW",
        "--unified= --brief --side-by-side --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --color"
        " --color= --text --report-identical-files --width= --suppress-common-lines",
    ),
    "expand": KnownOptions("i", "t"),
    "fd": KnownOptions("HIsip0", "etd", "--hidden --no-ignore --type= --extension= --max-depth="),
    "file": KnownOptions("bihLsk", words="--brief --mime --mime-type --mime-encoding"),
    "fold": KnownOptions("bs", "w"),
    "hexdump": KnownOptions("Cbcdovx", "ns"),
    "md5sum": _SUM,
    "paste": KnownOptions("sz", "d"),
    "sha1sum": _SUM,
    "sha256sum": _SUM,
    "sha512sum": _SUM,
    "strings": KnownOptions("af", "nte"),
    # It takes the values of L, I and P from the next word, and reads on in this one. `-L2` is fine.
    "tree": KnownOptions("adfhipsDFQrtugnLIP" + _NUMBERS, words="--dirsfirst --noreport --gitignore --du --charset="),
    "cat": KnownOptions("AbeEnstTuv", words="--number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank"),
    "cmp": KnownOptions("bls", "in", "--silent --quiet --verbose --print-bytes"),
    "comm": KnownOptions("123iz", words="--check-order --nocheck-order --total --output-delimiter="),
    "cut": KnownOptions(
        "nsz", "bcdf", "--complement --only-delimited --bytes= --characters= --delimiter= --fields= --output-delimiter="
    ),
    "df": KnownOptions("ahHiklPT", words="--all --human-readable --inodes --local --print-type --total"),
    "du": KnownOptions(
        "abchklmsSx0", "dt",
        "--all --apparent-size --bytes --human-readable --one-file-system --summarize --total --max-depth= --exclude="
        " --threshold=",
    ),
    "egrep": _GREP,
    "fgrep": _GREP,
    "find": KnownOptions(words=(
        "-P -a -amin -and -atime -cmin -ctime -daystart -depth -empty -executable -false -group -iname -inum -ipath -iregex"
        " -iwholename -links -ls -maxdepth -mindepth -mmin -mount -mtime -name -newer -newermt -nogroup -not -nouser -o -or -path"
        " -perm -print -print0 -printf -prune -quit -readable -regex -regextype -size -true -type -user -wholename -writable"
        " -xdev"
    )),
    "grep": _GREP,
    "head": KnownOptions("qvz" + _NUMBERS, "nc", "--lines= --bytes= --quiet --silent --verbose"),
    "ls": KnownOptions(
        "aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1",
        words="--all --almost-all --author --classify --color --color= --directory --file-type --full-time"
        " --group-directories-first --human-readable --ignore= --hide= --indicator-style= --inode --literal --no-group"
        " --numeric-uid-gid --quote-name --recursive --reverse --si --size --sort= --time= --time-style= --width=",
    ),
    "nl": KnownOptions("p", "bdfhilnsvw"),
    "od": KnownOptions("abcdfhilosxv", "AjNtS", "--address-radix= --format= --read-bytes= --skip-bytes= --output-duplicates"),
    "readlink": KnownOptions("efmnqsvz"),
    "realpath": KnownOptions("emqsz"),
    "rev": KnownOptions(),
    "rg": KnownOptions(
        "abcFHIilNnoPpqSsUuvwx0.", "ABCmMegtTrdjE",
        "--type-list --hidden --no-hidden --no-ignore --no-ignore-vcs --no-heading --heading --count --count-matches"
        " --line-number --no-line-number --ignore-case --smart-case --case-sensitive --files-with-matches --files-without-match"
        " --multiline --multiline-dotall --fixed-strings --word-regexp --line-regexp --invert-match --only-matching --json"
        " --stats --no-filename --with-filename --no-messages --no-config --vimgrep --trim --null --column --pcre2 --text"
        " --pretty --quiet --no-follow --unrestricted --color= --colors= --glob= --iglob= --type= --type-not= --max-count="
        " --max-depth= --max-columns= --max-filesize= --context= --after-context= --before-context= --replace= --regexp="
        " --sort= --sortr= --threads= --encoding=",
    ),
    "sort": KnownOptions(
        "bcCdfghiMmnRrsuVz", "kt", "--reverse --numeric-sort --unique --ignore-case --key= --field-separator= --stable"
    ),
    "stat": KnownOptions("ft", "c", "--terse --file-system --format= --printf="),
    "tac": KnownOptions("br", "s"),
    "tail": KnownOptions("qvz" + _NUMBERS, "nc", "--lines= --bytes= --quiet --silent --verbose"),
    "wc": KnownOptions("cmlLw", words="--lines --words --bytes --chars --max-line-length"),
}  # fmt: skip
#: `-v` runs what is in a subscript, `%n` sets a variable that may be PATH, and numbers are evaluated by some shells.
_FORMAT = re.compile(r"(?:[^%]|%[-0-9.]*[sb]|%%)*", re.DOTALL)
#: Of `find`: `-mtime -1`, `-size -10k`, `-perm -644`.
_AMOUNT = re.compile(r"-\d+[bcwkMG]?")
_SECONDS = re.compile(r"\d+(?:\.\d+)?[smh]?")


#: Whole commands that show a version (2.1.325); others run what a project may have put in place.
_VERSIONS = frozenset({("node", "--version"), ("node", "-v"), ("python", "--version"), ("python3", "--version")})
#: `e` would show the environment of processes, ours included.
_PROCESSES = frozenset({(), ("aux",), ("auxf",), ("auxww",), ("-ef",), ("-e",), ("-A",), ("-aux",), ("ax",), ("a",), ("x",)})
_DOCKER = frozenset({"ps", "images", "logs", "inspect"})
_TESTS = frozenset(
    ["-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-n", "-z", "-b", "-c", "-p", "-S", "-u", "-g", "-k", "-O", "-G"]
)
_COMPARISONS = frozenset({"=", "==", "!=", "-nt", "-ot", "-ef"})
_NUMERIC = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_PRINTED_LINES = re.compile(r"\d+(?:,(?:\d+|\$))?p(?:;\d+(?:,(?:\d+|\$))?p)*")
#: What a jq program may look at besides its input.
_LOOKS_AROUND = re.compile(r"\b(?:env|input_filename|import|include|modulemeta|debug|stderr|getpath_file|\$__loc__)\b|\$ENV")
_JQ = KnownOptions("rcsenSMCja", words="--raw-output --compact-output --slurp --exit-status --null-input --sort-keys --tab")
#: They look into folders, and so into files that nobody named.
_DESCENDING = frozenset({"rg", "du", "tree", "find", "fd", "ls", "df", "stat", "file"})
#: Of those, they show only names and sizes.
_NAMING = frozenset({"du", "tree", "find", "fd", "ls", "df", "stat", "readlink", "realpath", "file", "wc"})
#: Of binutils: `@file` stands for the arguments in that file.
_READING_ARGUMENTS = frozenset({"strings"})
_CHANGING_DIRECTORY = frozenset({"cd", "chdir", "pushd", "popd"})
#: Of `git status`, alone or among other letters: it shows what is in changed files.
_VERBOSE = re.compile(r"-[^-]*v|--v")
#: Set before a command, they change how it shows something (2.1.325).
_HARMLESS_VARIABLE = re.compile(
    r"(?:LANG|LANGUAGE|LC_[A-Z]+|TZ|NODE_ENV|NO_COLOR|FORCE_COLOR|TERM|RUST_BACKTRACE|RUST_LOG|GOOS|GOARCH|CGO_ENABLED"
    r"|GO111MODULE|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE)=[\w.,:@+-]*"
)


class Around(Struct, frozen=True):
    """What a command would find."""

    #: Whether a word, taken as a path, is in the folders that may be read.
    is_inside: Callable[[str], bool] = lambda _: True
    #: The files that a pattern means; None if they can't be told.
    expand: Callable[[str], list[str] | None] = lambda pattern: [pattern]
    is_folder: Callable[[str], bool] = lambda _: False
    is_plain_repository: Callable[[], bool] = lambda: True
    #: No rule denies reading some file.
    may_read_files: bool = True
    #: A `cd` came before.
    has_moved: bool = False
    home: str = "~"


def leads_to(part: Part) -> str | None:
    """The directory that a `cd` names; None for any other command."""
    match part.words:
        case ("cd", target) if part.is_literal and target and not target.startswith("-"):
            return target
    return None


def changes_directory(part: Part) -> bool:
    """Whether a part may be a `cd`, also behind settings and wrappers. Rather too often than too seldom."""
    return not _CHANGING_DIRECTORY.isdisjoint(part.words)


def is_harmless_setting(word: str) -> bool:
    """`LANG=C` before a command."""
    return _HARMLESS_VARIABLE.fullmatch(word) is not None


def is_reading(part: Part, around: Around) -> bool:
    """Whether a command only reads files that are inside."""
    if part.written or not all(around.is_inside(file) and around.may_read_files for file in part.read):
        return False
    words = _expanded(part, around)
    while words and (
        is_harmless_setting(words[0]) or (words[0] == "timeout" and len(words) > 2 and _SECONDS.fullmatch(words[1]))
    ):
        words = words[1:] if words[0] != "timeout" else words[2:]
    if not words:
        return False
    name, *arguments = words
    if name == "find" and any(part.patterns):  # what it becomes may be an action
        return False
    if (special := _SPECIAL.get(name)) is not None:
        return special(arguments, around)
    if tuple(words) in _VERSIONS:
        return True
    if (options := _SAYING.get(name)) is not None:
        return _are_known(name, arguments, options) and _are_harmless(name, arguments)
    options = _SHOWING.get(name)
    if options is None or not _are_known(name, arguments, options):
        return False
    if name in _READING_ARGUMENTS and any(word.startswith("@") for word in arguments):
        return False
    # Which words are files, and which are option values, differs between systems.
    if not all(around.is_inside(word) for word in arguments):
        return False
    # Folders may hold files that must not be read, and links that lead elsewhere.
    has_folder = any(around.is_folder(word) for word in arguments)
    if name == "diff" and has_folder:
        return False
    return around.may_read_files or name in _NAMING or not (has_folder or name in _DESCENDING)


def only_reads(command: str) -> bool:
    """Whether a whole command line only reads, wherever that is."""
    parts = split_command(command) or []
    return bool(parts) and all(is_reading(part, Around()) for part in parts)


def _expanded(part: Part, around: Around) -> list[str] | None:
    """The words as the program gets them; None if that can't be told."""
    patterns = part.patterns or ("",) * len(part.words)
    has_loose = bool(part.loose)
    found: list[str] = []
    for word, pattern in zip(part.words, patterns, strict=True):
        if pattern:
            files = around.expand(pattern)
            # A file may be named like an option.
            if files is None or any(file.startswith("-") for file in files):
                return None
            found += files or [word]
        elif has_loose and (word == "~" or word.startswith(("~/", "$HOME"))):
            found.append(around.home + word.removeprefix("~").removeprefix("$HOME"))
        elif has_loose and (word.startswith("~") or re.search(r"[=:]~|\$HOME", word)):
            return None
        else:
            found.append(word)
    return found


def _reads_git(arguments: Sequence[str], around: Around) -> bool:
    if around.has_moved or not reads_by_git(arguments, may_read_files=around.may_read_files):
        return False
    if arguments[0] == "status" and not around.may_read_files and any(map(_VERBOSE.match, arguments)):
        return False
    # A file outside would be compared with one inside.
    return all(around.is_inside(word) for word in arguments[1:] if not word.startswith("-")) and around.is_plain_repository()


def _reads_by_sed(arguments: Sequence[str], around: Around) -> bool:
    match list(arguments):
        case ["-n", program, *files] if _PRINTED_LINES.fullmatch(program):
            are_files = not any(file.startswith("-") or around.is_folder(file) for file in files)
            return are_files and all(map(around.is_inside, files))
    return False


def _is_test(arguments: Sequence[str], _: Around) -> bool:
    """Without what evaluates its operands: `-v 'a[$(…)]'` and numbers inside `[[` do."""
    match [word for word in arguments if word not in ("]", "]]")]:
        case ["!", *rest] if rest:
            return _is_test(rest, _)
        case [operator, _value]:
            return operator in _TESTS
        case [left, operator, right]:
            return operator in _COMPARISONS or (operator in _NUMERIC and left.isdecimal() and right.isdecimal())
        case [_value]:
            return True
    return False


def _prints(arguments: Sequence[str], _: Around) -> bool:
    return bool(arguments) and not arguments[0].startswith("-") and _FORMAT.fullmatch(arguments[0]) is not None


def _reads_by_jq(arguments: Sequence[str], around: Around) -> bool:
    others = [word for word in arguments if not word.startswith("-")]
    if not _are_known("jq", list(arguments), _JQ) or any(_LOOKS_AROUND.search(word) for word in others):
        return False
    return bool(others) and all(around.is_inside(file) for file in others[1:]) and (around.may_read_files or len(others) == 1)


def _reads_by_docker(arguments: Sequence[str], _: Around) -> bool:
    return bool(arguments) and arguments[0] in _DOCKER and not any(word.startswith("-") for word in arguments[1:])


_SPECIAL: dict[str, Callable[[Sequence[str], Around], bool]] = {
    "[": _is_test,
    "[[": _is_test,
    "docker": _reads_by_docker,
    "echo": lambda _words, _around: True,
    "git": _reads_git,
    "jq": _reads_by_jq,
    "printf": _prints,
    "ps": lambda words, _around: tuple(words) in _PROCESSES,
    "sed": _reads_by_sed,
    "test": _is_test,
    "uniq": lambda words, _around: all(re.fullmatch(r"-[cdiu]+", word) for word in words),
    "xargs": lambda words, _around: list(words) in ([], ["echo"]),
}


def _are_known(name: str, arguments: Sequence[str], options: KnownOptions) -> bool:
    # Also behind `--`: what ends options here may be a value there.
    given = [word for word in arguments if word.startswith("-") and word not in ("-", "--")]
    return all(options.hold(word) or (name == "find" and _AMOUNT.fullmatch(word)) for word in given)


def _are_harmless(name: str, arguments: Sequence[str]) -> bool:
    match name:
        case "date":  # it sets the clock
            return all(word == "-u" or word.startswith("+") for word in arguments)
        case "hostname" | "arch" | "free" | "nproc" | "ifconfig" | "history" | "groups" | "locale":  # some set what they show
            return not any(not word.startswith("-") for word in arguments)
        case "ip":
            return list(arguments) in (["addr"], ["addr", "show"])
        case "sleep":
            return all(_SECONDS.fullmatch(word) for word in arguments)
        case "which" | "type":  # it would look up a path
            return not any("/" in word for word in arguments)
    return True
