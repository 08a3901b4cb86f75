"""A shell command -> the simple commands in it.

Two readings: `split_command`, for allowing, gives up at whatever could run something it does not see (substitutions,
subshells, redirections); `commands_within`, for denying, finds all that might run, also in substitutions, wrappers and `sh -c`.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator

from msgspec import Struct

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_END = r"(?=[\s;&|]|$)"
#: Redirections that write no file.
_NOWHERE = rf"(?:[012]?>>?|&>>?|[012]?<)[ \t]*/dev/null{_END}|[12]?>&[12]{_END}"
#: The idiom for long messages: nothing in such a document is expanded, and nothing but `cat` runs.
_DOCUMENT = r"""\$\(cat[ \t]+<<[ \t]*(?P<sign>['"])(?P<mark>\w+)(?P=sign)\n(?P<body>(?:(?!(?P=mark)\n).*\n)*)(?P=mark)\n\s*\)"""
# What none of these matches (substitution, parenthesis, variable, `&`, open quote) ends the strict reading.
_TOKEN = re.compile(
    rf"""(?P<continued>\\\n)
    |(?P<blank>[ \t]+)
    |(?P<nowhere>{_NOWHERE})
    |(?P<here>0?<<(?!<)[ \t]*(?P<quote>['"])(?P<end>\w+)(?P=quote)(?=[\s;&|]|$))
    |(?P<redirect>[12]?>(?:>|\|)?(?![>&|(])|&>>?(?![>&|(])|0?<(?:<<)?(?![<>&(]))
    |(?P<split>&&|\|\||\|&|[;|\n])
    |(?P<single>'[^']*')
    |(?P<double>"(?:[^"\\`$]|\\[\s\S]|\$HOME\b|\$(?=["\s]))*")
    |(?P<document>"[^"\\`$]*{_DOCUMENT}[^"\\`$]*")
    |(?P<escape>\\[^\n])
    |(?P<home>\$HOME\b)
    |(?P<wild>[*?\[\]])
    |(?P<tilde>~)
    |(?P<brace>[{{}}])
    |(?P<hash>\#)
    |(?P<plain>[^\s'"\\$`<>()|&;*?\[\]~{{}}\#]+)""",
    re.VERBOSE,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_KEYWORDS = frozenset({
    "!", "{", "}", "[[", "]]", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
    "select", "function", "time", "coproc",
})  # fmt: skip
#: They run the command behind them.
_WRAPPERS = frozenset({
    "sudo", "doas", "env", "command", "builtin", "exec", "nohup", "timeout", "nice", "ionice", "stdbuf", "setsid", "xargs",
    "watch", "chroot", "unshare", "parallel", "time", "busybox", "toybox", "flock", "script", "strace", "ltrace", "taskset",
    "chrt", "runuser", "sg", "systemd-run", "nsenter", "setarch", "fakeroot", "set", "setpriv", "prlimit", "numactl", "pkexec",
    "gosu", "su-exec", "bwrap", "proot", "firejail", "torsocks", "proxychains", "proxychains4", "tini", "unbuffer", "rlwrap",
})  # fmt: skip
#: Their arguments are commands.
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "eval", "su", "trap", "alias"})
#: What follows is a name, not a command.
_NAMING = frozenset({"function", "coproc"})
_EXEC_OF_FIND = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_ASSIGNMENT = re.compile(rf"{_NAME}(?:\[[^]]*\])?\+?=")
#: Characters of nested commands, and words behind wrappers: each is read from its own start.
_MOST_WORK = 300_000
#: May expand to nothing: `r${x}m` is `rm` then. And `{rm,-r}` is two words.
_EXPANDED = re.compile(r"\$\{[^}]*\}|\$[0-9@*!-]|\$\w+|\$\(.*\)|`[^`]*`", re.DOTALL)
#: A name that is cut out of a variable, or built from another name: nobody can tell what it is.
_BUILT = re.compile(r"\$\{(?:!|[A-Za-z_]\w*(?:\[[^\]]*\])?(?::[^-=+?}]|[/^,%#@]))")
_EXTENDED = re.compile(r"[?*+@!]\(")
#: What may run a text that no reading here takes for a command: substitutions, here documents, shells and other interpreters,
#: programs with options that are commands, and builtins that evaluate words.
_RUNS_TEXT = re.compile(
    r"\$\(|`|<<|<\(|(?<![\w.-])(?:\.|source|eval|[a-z]*sh|su|hash|mapfile|readarray|compgen|complete|bind|printf\s+-v|xargs"
    r"|parallel|python[\d.]*|pypy[\d.]*|perl|ruby|php|node|deno|bun|lua|tclsh|expect|osascript|[gmn]?awk|g?sed|jq|tar|vim?|nvim"
    r"|ex|emacs|man|less|make|at|batch|crontab)(?![\w-])|alias\.|Command=|exec="
)
_LONGEST_NAME = 1000
_BRACES = str.maketrans("{},", "   ")
#: `$x`, `${x}` and `${x:-else}`.
_PARAMETER = re.compile(rf"\$(?:({_NAME})|\{{({_NAME})(?::?[-=+?]([^}}]{{0,200}}))?\}})")
#: What variables hold that no command sets. `~` and `.` are for whoever looks at names of files.
_VALUES = {"IFS": " ", "SHELL": "sh", "BASH": "bash", "HOME": "~", "PWD": "."}
_MOST_VALUES = 16
#: In one part of a path, from the first bracket to the last: which of them belong together is open.
_BRACKETS = re.compile(r"\[[^/]*\]|\[[^/]*")
_ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL)


class Part(Struct, frozen=True):
    """A simple command."""

    #: As written, without redirections.
    text: str
    #: Unquoted.
    words: tuple[str, ...]
    #: Words with a pattern, a tilde, a brace or `$HOME`, as written. All others are what the program gets.
    loose: tuple[str, ...] = ()
    #: For each word the pattern that the shell expands, with what was quoted escaped; empty for a plain word.
    patterns: tuple[str, ...] = ()
    #: Files that it reads and writes by redirection.
    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    #: In a loop, where it may run more than once, or behind one.
    in_loop: bool = False

    @property
    def is_literal(self) -> bool:
        return not self.loose


class Unclear(Struct, frozen=True):
    """Where the strict reading gave up."""

    #: The beginning of what is not understood.
    rest: str
    why: str


#: Before a command, they change nothing about what it runs.
_LEADING = frozenset({"!", "if", "then", "elif", "else", "while", "until", "do"})
_LOOPING = frozenset({"while", "until"})
_TRAILING = frozenset({"fi", "done"})
_REST = 40
#: Blanks and invisible characters that a shell takes for a part of a word, and a reader for none.
_INVISIBLE = re.compile(r"[\u0085\u00a0\u00ad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff\u2066-\u206f]")


def split_command(command: str) -> list[Part] | None:
    """The simple commands between `&&`, `||`, `;`, `|` and newlines; None if uncertain."""
    parts = read_command(command)
    return None if isinstance(parts, Unclear) else parts


def read_command(command: str) -> list[Part] | Unclear:
    read = _read(command)
    return read if isinstance(read, Unclear) else list(read)


@functools.lru_cache(maxsize=8)
def _read(command: str) -> tuple[Part, ...] | Unclear:
    """A call's command is read before and after it runs."""
    if found := _CONTROL.search(command) or _INVISIBLE.search(command):
        return Unclear(command[: found.start()][-_REST:], "an invisible character follows")
    read = _Reader(command).read()
    return read if isinstance(read, Unclear) else tuple(read)


class _Reader:
    def __init__(self, command: str) -> None:
        self.command = command
        self.parts: list[Part] = []
        self.at = 0
        #: Ends of here-documents whose text follows the line.
        self.documents: list[str] = []
        #: An operator wants another command.
        self.is_open = False
        self.has_loop = False
        self.clear_part()

    def clear_part(self) -> None:
        self.text = ""
        self.words: list[str] = []
        self.loose: list[str] = []
        self.patterns: list[str] = []
        self.redirected: dict[str, list[str]] = {"<": [], ">": []}
        self.clear_word()
        #: Behind a redirection a keyword is the name of a program.
        self.is_redirected_first = False
        #: The redirection whose target comes next.
        self.target = ""

    def clear_word(self) -> None:
        self.word = self.written = self.pattern = ""
        self.in_word = self.is_loose = self.has_pattern = False
        #: A bracket was opened, and something behind it is quoted: `["!"a]` is `!` or `a`, and not all but `a`.
        self.has_bracket = self.is_bracket_quoted = False

    def unclear(self, why: str, at: int | None = None) -> Unclear:
        rest = self.command[self.at if at is None else at :]
        return Unclear(rest[:_REST] + ("…" if len(rest) > _REST else ""), why)

    def read(self) -> list[Part] | Unclear:
        command = self.command
        while self.at < len(command):
            found = _TOKEN.match(command, self.at)
            if found is None:
                return self.unclear(_why(command[self.at :]))
            kind, raw, start = found.lastgroup or "", found.group(), self.at
            kind = next((name for name in ("here", "document") if found[name] is not None), kind)
            self.at = found.end()
            if kind == "continued":  # words continue over it
                continue
            # The bash of macOS, 3.2, ends a substitution at a parenthesis of a document in it.
            if kind == "document" and sys.platform == "darwin" and re.search(r"[)'\"]", found["body"]):
                return self.unclear("a document inside another command", start)
            if kind == "hash" and not self.in_word:
                self.at = _find(command, "\n", self.at)
            elif kind in ("blank", "nowhere", "split", "here", "redirect"):
                # In `a"b"2>&1` the digit belongs to the word: another redirection.
                if self.in_word and kind in ("nowhere", "here", "redirect") and raw[0].isdigit():
                    return self.unclear("a redirection that cannot be checked", start)
                if problem := self.end_word() or self.separate(kind, raw, found["end"] or ""):
                    return self.unclear(problem, start)
            else:
                self.take(kind, raw, found["body"])
        if problem := self.end_word() or self.end_part():
            return self.unclear(problem)
        if self.is_open:
            return self.unclear("a command is missing at its end")
        return self.unclear("a document without its end") if self.documents else self.parts

    def separate(self, kind: str, raw: str, end: str) -> str:
        """Returns why not."""
        if kind in ("nowhere", "here", "redirect") and not self.words:
            self.is_redirected_first = True
        if kind == "blank":
            self.text += raw
        elif kind == "nowhere":
            self.text += " "
        elif self.target:
            return "a redirection without a file"
        elif kind == "here":
            self.documents.append(end)
        elif kind == "redirect":
            self.target = "<<<" if raw.endswith("<<<") else "<" if "<" in raw else ">"
        else:
            if problem := self.end_part():
                return problem
            self.is_open = raw in ("&&", "||", "|", "|&")
            if raw == "\n":
                return self.skip_documents()
        return ""

    def skip_documents(self) -> str:
        for end in self.documents:
            found = re.compile(rf"(?:.*\n)*?{re.escape(end)}(?:\n|$)").match(self.command, self.at)
            if found is None:
                return "a document without its end"
            self.at = found.end()
        self.documents = []
        return ""

    def take(self, kind: str, raw: str, body: str | None) -> None:
        value = _unquoted(kind, raw)
        if kind == "document":
            start = raw.index("$(")
            value = raw[1:start] + (body or "").rstrip("\n") + raw[raw.rindex(")") + 1 : -1]
        # Within a word a tilde is itself, but behind `=` and `:`.
        is_tilde = kind == "tilde" and (not self.in_word or self.written.endswith(("=", ":")))
        if is_tilde or kind in ("home", "brace", "wild") or (kind == "double" and "$HOME" in raw):
            self.is_loose = True
        if kind == "wild":
            self.has_pattern = True
            self.has_bracket = self.has_bracket or raw == "["
        elif kind in ("single", "double", "document", "escape", "home"):
            self.is_bracket_quoted = self.is_bracket_quoted or self.has_bracket
        self.word += value
        self.pattern += raw if kind in ("wild", "plain", "tilde") else re.sub(r"([*?\[\]])", r"[\1]", value)
        self.written += raw
        self.text += "" if self.target else raw
        self.in_word = True

    def end_word(self) -> str:
        """Returns why not."""
        if not self.in_word:
            return ""
        if self.is_loose and "{" in self.written and re.search(r",|\.\.|[{].*[{]", self.written):
            return "a brace expansion"
        if self.has_pattern and self.written not in ("[", "]", "[[", "]]"):
            if self.is_bracket_quoted or re.search(r"\[[^\]]*\[|\[[^\]]*$", self.written):
                return "a pattern that cannot be checked"
            if self.written.startswith("~") or "$HOME" in self.written or ".." in self.written.split("/"):
                return "a pattern in a directory that cannot be checked"
        if self.target:
            if self.is_loose and self.target != "<<<":
                return "the name of a file that the shell expands"
            if self.target != "<<<":
                self.redirected[self.target].append(self.word)
            self.target = ""
        else:
            if not self.words and self.is_loose and self.written not in ("[", "[[", "{", "}"):
                return "the name of a program that the shell expands"
            self.words.append(self.word)
            self.loose += [self.written] if self.is_loose and self.written not in ("[", "]", "[[", "]]") else []
            self.patterns.append(self.pattern if self.has_pattern and self.written not in ("[", "]", "[[", "]]") else "")
        self.clear_word()
        return ""

    def end_part(self) -> str:
        """Returns why not."""
        if self.target:
            return "a redirection without a file"
        words, patterns, text = self.words, self.patterns, self.text.strip()
        if self.is_redirected_first and words and words[0] in _KEYWORDS:
            return "a redirection before a keyword"
        while words and words[0] in _LEADING and text.startswith(words[0]):
            text = text[len(words[0]) :].lstrip()
            self.has_loop = self.has_loop or words[0] in _LOOPING
            words, patterns = words[1:], patterns[1:]
        # A loop sets its variable, which must not be one that programs look at.
        is_loop = re.match(r"for[ \t]+[a-z_][a-z0-9_]*[ \t]+in[ \t]", text) and words[:1] == ["for"]
        if is_loop or (len(words) == 1 and words[0] in _TRAILING and text == words[0]):
            self.has_loop = self.has_loop or bool(is_loop)
            words = []
        elif words and (words[0] in _KEYWORDS - {"[[", "time"} or _times_a_group(words)):
            return "a group, function or loop that cannot be checked"
        # `&&` and `||` inside of it do not end it.
        if words and words[0] == "[[" and words[-1] != "]]":
            return "a condition that cannot be checked"
        if words:
            self.is_open = False
            read, written = map(tuple, self.redirected.values())
            self.parts.append(Part(text, tuple(words), tuple(self.loose), tuple(patterns), read, written, self.has_loop))
        elif any(self.redirected.values()):
            return "a redirection without a command"
        self.clear_part()
        return ""


def _times_a_group(words: list[str]) -> bool:
    """`time -p while …`: what follows is not the words of a program."""
    timed = next((word for word in words[1:] if not word.startswith("-")), "")
    return words[0] == "time" and timed in _KEYWORDS - {"[["}


def _why(rest: str) -> str:
    if rest.startswith("&"):
        return "it continues in the background"
    if rest.startswith(("$(", "`", '"', "<(", ">(")):
        return "a command or variable inside another cannot be checked"
    if rest.startswith("$"):
        return "a variable cannot be checked"
    return "a group or an open quote cannot be checked"


def _unquoted(kind: str, raw: str) -> str:
    if kind == "single":
        return raw[1:-1]
    if kind == "double":
        return re.sub(r"\\([\\\"$`\n])", lambda found: "" if found[1] == "\n" else found[1], raw[1:-1])
    return raw[1:] if kind == "escape" else raw


def commands_within(command: str) -> list[tuple[str, ...]] | None:
    """The words of everything that the command might run or redirect to: rather too much than too little.

    None for a command nested beyond any sensible one.
    """
    found: dict[tuple[str, ...], None] = {}
    # Wrappers of wrappers would make an endless tree.
    seen: set[str] = set()
    waiting = [command]
    spent = 0
    while waiting:
        text = waiting.pop()
        if text in seen:
            continue
        seen.add(text)
        spent += len(text)
        commands = list(_loose_commands(text))
        if "$" in text and spent <= len(command) + _MOST_WORK:
            waiting += _substituted(text, [words for words, _ in commands])
        for words, nested in commands:
            waiting += nested
            for candidate in _unwrapped(words):
                spent += len(candidate)
                if spent > len(command) + _MOST_WORK:
                    return None
                found.setdefault(candidate)
                name = candidate[0].rpartition("/")[2]
                found.setdefault((name, *candidate[1:]))
                if written := _written(candidate[0]):
                    found.setdefault((*written, *candidate[1:]))
                if name in _SHELLS:
                    waiting += [" ".join(candidate[1:]), *candidate[1:]]
                if name in _SHELLS or name in _WRAPPERS:  # `alias x='rm y'`, `env -S'rm y'`, `watch 'rm y'`
                    waiting += [word.partition("=")[2] for word in candidate[1:] if "=" in word]
                    waiting += [re.sub(r"^-\w", "", word) for word in candidate[1:] if " " in word]
    return list(found)


def may_run(command: str, name: str) -> bool:
    """Whether a command may run a program of this name, with these first words, in a way that `commands_within` does not see."""
    commands = [words for words, _ in _loose_commands(command) if words]
    if any(_BUILT.search(words[0]) for words in commands):
        return True
    # `/bin/?(r)m` is `rm` where a shell was asked to read it so.
    if _EXTENDED.search(command) and any("extglob" in word for words in commands for word in words):
        return True
    if not _RUNS_TEXT.search(command):
        return False
    said = r"\s+".join(map(re.escape, name.split()))
    return re.search(rf"(?<![\w-]){said}(?![\w-])", command) is not None


def _substituted(text: str, commands: list[tuple[str, ...]]) -> list[str]:
    """The same text with its variables replaced by what it sets them to itself; nothing, if it does not set them."""
    values: dict[str, list[str]] = {name: [value] for name, value in _VALUES.items()}
    for words in commands:
        for word in words:
            if set_to := _ASSIGNMENT.match(word):
                values.setdefault(re.split(r"\W", word)[0], []).append(word[set_to.end() :])
        if words[:1] == ("for",) and words[2:3] == ("in",):
            values.setdefault(words[1], []).extend(words[3:])
    made: list[str] = []
    for turn in range(min(max(map(len, values.values())), _MOST_VALUES)):

        def value(found: re.Match[str], turn: int = turn) -> str:
            known = values.get(found[1] or found[2], [])
            return known[min(turn, len(known) - 1)] if known else found[3] or ""

        made.append(_PARAMETER.sub(value, text))
    return [one for one in dict.fromkeys(made) if one != text and len(one) <= 2 * len(text) + _LONGEST_NAME]


def _written(name: str) -> list[str]:
    """A name with variables empty and braces opened; nothing for a plain one."""
    if len(name) > _LONGEST_NAME:
        return []
    written = _EXPANDED.sub("", name).translate(_BRACES).split()
    return [] if written == [name] else written


def _unwrapped(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The command itself, and what may be one behind `sudo`, `env A=1`, `then`, `-exec`."""
    is_wrapped = is_named = False
    may_begin = True
    for index, word in enumerate(words):
        if word in _KEYWORDS or _ASSIGNMENT.match(word):
            is_wrapped = is_wrapped or (may_begin and word == "time")
            is_named = may_begin and word in _NAMING
            continue
        if may_begin:
            yield words[index:]
            is_wrapped = is_wrapped or word.rpartition("/")[2] in _WRAPPERS
        if is_named:
            is_named = False
            continue
        # Which options of a wrapper take a value is unknown: any word may be the command.
        may_begin = is_wrapped or word in _EXEC_OF_FIND


def _loose_commands(command: str) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Simple commands as words, with the texts of their substitutions; a redirection's target is one of its own."""
    words: list[_Word] = []
    nested: list[str] = []
    word: _Word | None = None
    is_target = False
    at = 0
    while at <= len(command):
        char = command[at] if at < len(command) else "\n"
        if char in " \t\v\f\n\r;&|()<>":
            if word is not None and is_target:
                yield from ((meant, []) for meant in _meanings([word]))
            elif word is not None and not (char in "<>" and word.text.isdigit()):
                words.append(word)
            is_target = is_target and word is None
            word = None
            at += 1
            if char in "<>":
                is_target = True
                while command[at : at + 1] and command[at] in "<>&|-":
                    at += 1
            elif char not in " \t\v\f":
                yield from ((meant, nested) for meant in _meanings(words))
                words, nested, is_target = [], [], False
        elif char == "#" and word is None:
            at = _find(command, "\n", at)
        else:
            word = word or _Word()
            piece, at = _piece(command, at, nested)
            at = min(at, len(command))  # a quote or backslash at the end
            word.take(piece, is_bare=char not in "\\'\"$`")


class _Word:
    """A word of the loose reading."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._has_bracket = self._is_bracket_quoted = False

    @property
    def text(self) -> str:
        """Unquoted."""
        return "".join(self._pieces)

    def take(self, piece: str, *, is_bare: bool) -> None:
        self._pieces.append(piece)
        if is_bare:
            self._has_bracket = self._has_bracket or piece == "["
        elif self._has_bracket:
            self._is_bracket_quoted = True

    @property
    def widened(self) -> str:
        """With `*` for brackets, if what they mean depends on what is quoted or expanded in them."""
        return _BRACKETS.sub("*", self.text) if self._is_bracket_quoted else self.text


def _meanings(words: list[_Word]) -> Iterator[tuple[str, ...]]:
    as_written, widened = tuple(word.text for word in words), tuple(word.widened for word in words)
    yield as_written
    if widened != as_written:
        yield widened


def _piece(command: str, at: int, nested: list[str]) -> tuple[str, int]:
    char = command[at]
    if char == "\\":
        return command[at + 1 : at + 2].replace("\n", ""), at + 2
    if char == "'":
        end = _find(command, "'", at + 1)
        return command[at + 1 : end], end + 1
    if command.startswith("$'", at):
        closed = re.compile(r"(?:[^'\\]|\\.)*", re.DOTALL).match(command, at + 2)
        end = closed.end() if closed else at + 2
        return _ESCAPE.sub(_meant, command[at + 2 : end]), end + 1
    if char == "`":
        end = _find(command, "`", at + 1)
        nested.append(command[at + 1 : end])
        return command[at : end + 1], end + 1
    if command.startswith("$(", at):
        end = _closing(command, at + 2)
        nested.append(command[at + 2 : end])
        return command[at : end + 1], end + 1
    if char != '"':
        return char, at + 1
    text, at = "", at + 1
    while at < len(command) and command[at] != '"':
        # A single quote inside double ones is literal, also behind a dollar.
        is_literal = command[at] == "'" or command.startswith("$'", at)
        piece, at = (command[at], at + 1) if is_literal else _piece(command, at, nested)
        text += piece
    return text, at + 1


def _meant(escape: re.Match[str]) -> str:
    """A character as `$'…'` writes it."""
    code, octal, control, other = escape[1] or escape[2] or escape[3], escape[4], escape[5], escape[6]
    if code or octal:
        number = int(code, 16) if code else int(octal, 8)
        return chr(number) if number < 0x110000 else ""
    return chr(ord(control) & 0x1F) if control else _ESCAPES.get(other, other)


def _closing(command: str, at: int) -> int:
    depth = 1
    while at < len(command):
        if command[at] in "\\'\"":  # what is quoted closes nothing
            at = _piece(command, at, [])[1]
            continue
        depth += {"(": 1, ")": -1}.get(command[at], 0)
        if not depth:
            return at
        at += 1
    return min(at, len(command))


def _find(command: str, wanted: str, start: int) -> int:
    found = command.find(wanted, start)
    return len(command) if found < 0 else found
