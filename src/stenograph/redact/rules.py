"""The formats of secrets that are known, one rule each.

A rule is tried only where one of its literals stands, and reads on from there no further than a bounded number of characters
or the end of one word, so that the time for a text grows with its length alone, whatever it holds.

Titles and summaries come already cut: where a text ends, or an ellipsis stands, what has only begun as a secret is one too.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple


class Rule(NamedTuple):
    #: Of what kind the secret is; part of its placeholder.
    name: str
    #: How such secrets begin; the pattern is matched where one of these stands.
    literals: tuple[str, ...]
    #: The secret is the group `secret` where there is one, else all that matches.
    expression: str
    #: Who says that they look like this.
    source: str
    #: The same for one that was cut off, without what must stand behind it; empty where `expression` takes those too.
    begun: str = ""

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.expression)

    @property
    def begun_pattern(self) -> re.Pattern[str] | None:
        return _compiled(f"(?:{self.begun}){_CUT_OFF}") if self.begun else None


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    """Only when a text holds a literal: most hold none, and a list of sessions is to be there at once."""
    return re.compile(expression)


def _rule(name: str, literals: str, expression: str, source: str, begun: str = "") -> Rule:
    return Rule(name, tuple(literals.split()), expression, source, begun)


# A key ends where its alphabet ends: "…{36}" inside a longer word is something else.
# Before it may stand a line end or a colour, also written out, as in JSON: they end in letters.
# Of a colour all that is no letter is asked for: in "0meyJ0meyJ…" each would else begin a word within the word before.
_AFTER_ESCAPE = r"|(?<=\\[nrtbf])|(?<=[\[;]m)|(?<=[\[;:][0-9]m)|(?<=[\[;:][0-9]{2}m)|(?<=[\[;:][0-9]{3}m)|(?<=\[K)"
_WORD_STARTS = rf"(?:(?<![A-Za-z0-9]){_AFTER_ESCAPE})"
_WORD_ENDS = r"(?![A-Za-z0-9])"
_HAS_DIGIT = r"(?=[A-Za-z_-]{0,99}[0-9])"
# Between a name and its value, in shells, JSON (also inside a JSON string), YAML and code.
_IS = r"[\"'\\\s]{0,6}[:=][\"'\\\s]{0,6}"
_PEM_NAME = r"(?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"

_CUT_OFF = r"(?=\s{0,9}\Z|…|\.\.\.)"

#: Where two rules find the same secret the first one names it.
RULES = (
    _rule(
        "private-key",
        "-----BEGIN",
        # To its end; of one that was cut off, all that looks like its lines. `\n` may be written out, lines may be numbered or
        # those of a patch.
        rf"-----BEGIN {_PEM_NAME}(?:(?:[^-]|-(?!----))*+-{{5,6}}END {_PEM_NAME}"
        r"|(?:\s|\\[nr]|[0-9]{1,6}→|(?<=\n)-|[A-Za-z0-9+/=]{16,}+)*+[A-Za-z0-9+/=]*+)",
        "RFC 7468, RFC 4880",
    ),
    _rule(
        "anthropic-key",
        "sk-ant-",
        r"sk-ant-[A-Za-z0-9_-]{16,300}",
        "the vendor's documentation: keys (api03), OAuth tokens (oat01), admin keys (admin01)",
        r"sk-ant-[A-Za-z0-9_-]{4,15}",
    ),
    _rule(
        "openai-key",
        "sk-",
        rf"{_WORD_STARTS}sk-(?:(?:proj|svcacct|admin)-{_HAS_DIGIT}[A-Za-z0-9_-]{{20,300}}|{_HAS_DIGIT}[A-Za-z0-9]{{32,100}}){_WORD_ENDS}",
        "the vendor's documentation",
        rf"{_WORD_STARTS}sk-{_HAS_DIGIT}(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{{4,19}}|[A-Za-z0-9]{{4,31}})",
    ),
    _rule(
        "openrouter-key",
        "sk-or-v1-",
        r"sk-or-v1-[A-Za-z0-9]{16,300}",
        "OpenRouter, authentication",
        r"sk-or-v1-[A-Za-z0-9]{4,15}",
    ),
    _rule(
        "groq-key",
        "gsk_",
        rf"{_WORD_STARTS}gsk_{_HAS_DIGIT}[A-Za-z0-9]{{32,300}}",
        "Groq, API keys",
        rf"{_WORD_STARTS}gsk_{_HAS_DIGIT}[A-Za-z0-9]{{4,31}}",
    ),
    _rule(
        "xai-key",
        "xai-",
        rf"{_WORD_STARTS}xai-{_HAS_DIGIT}[A-Za-z0-9]{{40,300}}",
        "xAI, API keys",
        rf"{_WORD_STARTS}xai-{_HAS_DIGIT}[A-Za-z0-9]{{8,39}}",
    ),
    _rule(
        "huggingface-token",
        "hf_",
        rf"{_WORD_STARTS}hf_[A-Za-z0-9]{{34,100}}{_WORD_ENDS}",
        "Hugging Face, user access tokens",
        rf"{_WORD_STARTS}hf_(?=[a-z]{{0,33}}[A-Z0-9])[A-Za-z0-9]{{4,33}}",
    ),
    _rule(
        "sendgrid-key",
        "SG.",
        rf"{_WORD_STARTS}SG\.[A-Za-z0-9_-]{{16,64}}\.[A-Za-z0-9_-]{{32,128}}",
        "SendGrid, API keys",
        rf"{_WORD_STARTS}SG\.{_HAS_DIGIT}[A-Za-z0-9_-]{{8,64}}(?:\.[A-Za-z0-9_-]{{0,31}})?",
    ),
    _rule(
        "digitalocean-token",
        "dop_v1_ doo_v1_ dor_v1_",
        r"do[por]_v1_[a-f0-9]{32,128}",
        "DigitalOcean, token prefixes",
        r"do[por]_v1_[a-f0-9]{4,31}",
    ),
    _rule(
        "google-oauth-token",
        "ya29.",
        rf"{_WORD_STARTS}ya29\.[A-Za-z0-9_.-]{{20,2048}}",
        "Google, OAuth 2.0 access tokens",
        rf"{_WORD_STARTS}ya29\.[A-Za-z0-9_.-]{{4,19}}",
    ),
    _rule(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9]{4,20}/[A-Za-z0-9/]{12,200})",
        "Slack, incoming webhooks",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9]{4,20}/[A-Za-z0-9/]{0,200})",
    ),
    _rule(
        "azure-key",
        "AccountKey= SharedAccessKey=",
        r"(?:Account|SharedAccess)Key=(?P<secret>[A-Za-z0-9+/]{40,100}={0,2})",
        "Azure Storage, connection strings",
        r"(?:Account|SharedAccess)Key=(?P<secret>[A-Za-z0-9+/]{4,39})",
    ),
    _rule(
        "aws-key-id",
        "AKIA ASIA",
        rf"{_WORD_STARTS}A[KS]IA[A-Z0-9]{{16}}{_WORD_ENDS}",
        "AWS IAM, unique identifiers",
        rf"{_WORD_STARTS}A[KS]IA[A-Z0-9]{{4,15}}",
    ),
    _rule(
        "aws-secret",
        "aws_secret AWS_SECRET SecretAccessKey secretAccessKey secret_access_key",
        rf"(?i:(?:aws_)?secret_?(?:access_?)?key){_IS}(?P<secret>[A-Za-z0-9/+]{{40}})(?![A-Za-z0-9/+=])",
        "AWS IAM, access keys",
        rf"(?i:(?:aws_)?secret_?(?:access_?)?key){_IS}(?P<secret>[A-Za-z0-9/+]{{4,39}})",
    ),
    _rule(
        "aws-session-token",
        "aws_session AWS_SESSION SessionToken sessionToken",
        rf"(?i:(?:aws_)?session_?token){_IS}(?P<secret>[A-Za-z0-9/+=]{{100,4000}})",
        "AWS STS, GetSessionToken",
        rf"(?i:(?:aws_)?session_?token){_IS}(?P<secret>[A-Za-z0-9/+=]{{8,99}})",
    ),
    _rule(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_",
        r"gh[pousr]_[A-Za-z0-9]{36,255}",
        "GitHub, token formats",
        r"gh[pousr]_[A-Za-z0-9]{4,35}",
    ),
    _rule(
        "github-token",
        "github_pat_",
        r"github_pat_[A-Za-z0-9_]{22,255}",
        "GitHub, token formats",
        r"github_pat_[A-Za-z0-9_]{4,21}",
    ),
    _rule(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glsoat-",
        rf"{_WORD_STARTS}gl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_.-]{{20,300}}",
        "GitLab, token prefixes",
        rf"{_WORD_STARTS}gl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_.-]{{4,19}}",
    ),
    _rule(
        "slack-token",
        "xox",
        rf"{_WORD_STARTS}xox[abeoprs]-{_HAS_DIGIT}[A-Za-z0-9-]{{10,300}}",
        "Slack, token types",
        rf"{_WORD_STARTS}xox[abeoprs]-{_HAS_DIGIT}[A-Za-z0-9-]{{4,9}}",
    ),
    # A base64 text may hold these letters; before and after a key none of its characters stands.
    _rule(
        "google-key",
        "AIza",
        rf"(?:(?<![A-Za-z0-9+/_-]){_AFTER_ESCAPE})AIza[A-Za-z0-9_-]{{35}}(?![A-Za-z0-9+/_-])",
        "Google Cloud, API keys",
        rf"(?:(?<![A-Za-z0-9+/_-]){_AFTER_ESCAPE})AIza[A-Za-z0-9_-]{{4,34}}",
    ),
    _rule(
        "stripe-key",
        "sk_live_ rk_live_ sk_test_ rk_test_",
        rf"{_WORD_STARTS}[rs]k_(?:live|test)_[A-Za-z0-9]{{16,300}}",
        "Stripe, API keys",
        rf"{_WORD_STARTS}[rs]k_(?:live|test)_[A-Za-z0-9]{{4,15}}",
    ),
    _rule(
        "npm-token",
        "npm_",
        rf"{_WORD_STARTS}npm_[A-Za-z0-9]{{36}}{_WORD_ENDS}",
        "npm, access token format",
        rf"{_WORD_STARTS}npm_(?=[a-z]{{0,35}}[A-Z0-9])[A-Za-z0-9]{{4,35}}",
    ),
    _rule("pypi-token", "pypi-Ag", r"pypi-Ag[A-Za-z0-9_-]{50,1000}", "PyPI, API tokens", r"pypi-Ag[A-Za-z0-9_-]{4,49}"),
    _rule(
        "jwt",
        "eyJ",
        # Begins no later than its word, so that no word is read twice.
        rf"(?:(?<![A-Za-z0-9_+/-]){_AFTER_ESCAPE})eyJ[A-Za-z0-9_-]{{8,}}+\.eyJ[A-Za-z0-9_-]{{8,}}+\.[A-Za-z0-9_-]{{8,}}+",
        "RFC 7519",
        # In its second part or its third: the first tells only how it was made.
        rf"(?:(?<![A-Za-z0-9_+/-]){_AFTER_ESCAPE})eyJ[A-Za-z0-9_-]{{8,}}+\.eyJ[A-Za-z0-9_-]*+(?:\.[A-Za-z0-9_-]{{0,7}})?",
    ),
    _rule(
        "bearer-token",
        "Bearer bearer BEARER",
        r"(?i:bearer)[ \t]{1,4}(?P<secret>(?=[A-Za-z._~+/=-]{0,99}[0-9])[A-Za-z0-9._~+/=-]{20,4000})",
        "RFC 6750",
        r"(?i:bearer)[ \t]{1,4}(?P<secret>(?=[A-Za-z._~+/=-]{0,18}[0-9])[A-Za-z0-9._~+/=-]{4,19})",
    ),
    _rule(
        "basic-auth",
        "Authorization authorization AUTHORIZATION",
        # Not a word, as in `Authorization: Basic authentication`. The shortest that is masked says `a:bcd`.
        rf"(?i:authorization){_IS}(?i:basic)[ \t]{{1,4}}"
        r"(?P<secret>(?=.[a-z]{0,99}[A-Z0-9+/=])[A-Za-z0-9+/_-]{7,4000}={0,2})",
        "RFC 7617",
        rf"(?i:authorization){_IS}(?i:basic)[ \t]{{1,4}}(?P<secret>(?=.[a-z]{{0,4}}[A-Z0-9+/=])[A-Za-z0-9+/_-]{{2,6}})",
    ),
    _rule(
        "url-password",
        "://",
        # Not what stands for a password: a variable, a template, asterisks, a placeholder of ours.
        r"://[^\s/?#:@\"'`<>]{0,128}:(?P<secret>(?![$<{*%]|\[[a-z-]+:[0-9]+\]@)[^\s/?#@\"'`<>]{1,256})@",
        "RFC 3986 §3.2.1",
        # Of `host:8080` nobody can tell that it is none, so digits alone are left.
        r"://[^\s/?#:@\"'`<>]{0,128}:(?P<secret>(?![$<{*%]|\[[a-z-]+:[0-9]+\]|[0-9]{1,5}(?![\w@]))[^\s/?#@\"'`<>…]{1,256})",
    ),
)
