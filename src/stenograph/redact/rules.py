"""The formats of secrets that are known, one rule each.

A rule is tried only where one of its literals stands, and reads on from there no further than a bounded number of characters
or the end of one word, so that the time for a text grows with its length alone, whatever it holds.

Titles and summaries come already cut: where a text ends, or an ellipsis stands, what has only begun as a secret is one too.
"""

from __future__ import annotations

import re

from stenograph.redact.assignments import NAME_LITERALS, TO_VALUE, find_assigned, is_literal, looks_random
from stenograph.redact.rule import SecretRule


def _rule(name: str, literals: str, expression: str, source: str, begun: str = "", needs: str = "") -> SecretRule:
    return SecretRule(name, tuple(literals.split()), source, expression, begun, needs=needs)


# A key ends where its alphabet ends: "…{36}" inside a longer word is something else.
# Before it may stand a line end or a colour, also written out, as in JSON: they end in letters.
# Of a colour all that is no letter is asked for: in "0meyJ0meyJ…" each would else begin a word within the word before.
_AFTER_ESCAPE = (
    r"|(?<=[nrtbfmK])(?:(?<=\\[nrtbf])|(?<=[\[;]m)|(?<=[\[;:][0-9]m)|(?<=[\[;:][0-9]{2}m)|(?<=[\[;:][0-9]{3}m)|(?<=\[K))"
)
_WORD_STARTS = rf"(?:(?<![A-Za-z0-9]){_AFTER_ESCAPE})"
_WORD_ENDS = r"(?![A-Za-z0-9])"
_DIGIT = "[0-9]"
_HAS_DIGIT = rf"(?=[A-Za-z_-]{{0,99}}+{_DIGIT})"
# Between a name and its value, in shells, JSON (also inside a JSON string), YAML and code.
_IS = r"[\"'\\\s]{0,6}[:=][\"'\\\s]{0,6}"
_PEM_NAME = r"(?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"

# Not what stands for a secret: a variable, a template, asterisks, a placeholder of ours.
_STANDS_FOR_NOTHING = r"(?![$<{*%\[]|[xX.*]{3})"

_BARE = r"[^\s\"'`\\,;<>(){}\[\]$|&]"
# So much of a value is judged.
_JUDGED = 200


def _key(name: str, literals: str, alphabet: str, lengths: tuple[int, int], source: str, *, random: bool = False) -> SecretRule:
    """A prefix and a run of so many characters. `random`: only with a digit in it, where words may begin with that prefix.

    Of one that was cut off four characters are enough.
    """
    least, most = lengths
    prefix = _WORD_STARTS + f"(?:{'|'.join(re.escape(literal) for literal in literals.split())})"
    if random:
        prefix += rf"(?={alphabet.replace('0-9', '')}{{0,{min(most, 100) - 1}}}+[0-9])"
    expression = rf"{prefix}{alphabet}{{{least},{most}}}+(?!{alphabet})"
    return _rule(name, literals, expression, source, rf"{prefix}{alphabet}{{4,{least - 1}}}", _DIGIT if random else "")


#: The literal of keys that have no other. As there are so many, rules are tried only where this matches.
DOT = "."
DOT_BEFORE = r"\.[A-Za-z0-9_-]{6}+(?:\.[A-Za-z0-9_-]{27}|[A-Za-z0-9]{10}(?![A-Za-z0-9]))"
#: The kind of a secret that only its name gives away.
ASSIGNED = "assigned-secret"
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
        r"sk-ant-[A-Za-z0-9_-]{16,}+",
        "the vendor's documentation: keys (api03), OAuth tokens (oat01), admin keys (admin01)",
        r"sk-ant-[A-Za-z0-9_-]{4,15}",
    ),
    _rule(
        "openai-key",
        "sk-",
        rf"{_WORD_STARTS}sk-(?:(?:proj|svcacct|admin)-{_HAS_DIGIT}[A-Za-z0-9_-]{{20,}}+|(?=[A-Za-z]{{0,99}}+[0-9])[A-Za-z0-9]{{32,}}+)",
        "the vendor's documentation",
        rf"{_WORD_STARTS}sk-{_HAS_DIGIT}(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{{4,19}}|[A-Za-z0-9]{{4,31}})",
        _DIGIT,
    ),
    _rule(
        "openrouter-key",
        "sk-or-v1-",
        r"sk-or-v1-[A-Za-z0-9]{16,}+",
        "OpenRouter, authentication",
        r"sk-or-v1-[A-Za-z0-9]{4,15}",
    ),
    _rule(
        "groq-key",
        "gsk_",
        rf"{_WORD_STARTS}gsk_(?=[A-Za-z0-9]{{32}}){_HAS_DIGIT}[A-Za-z0-9]{{32,}}+",
        "Groq, API keys",
        rf"{_WORD_STARTS}gsk_{_HAS_DIGIT}[A-Za-z0-9]{{4,31}}",
        _DIGIT,
    ),
    _rule(
        "xai-key",
        "xai-",
        rf"{_WORD_STARTS}xai-(?=[A-Za-z0-9]{{40}}){_HAS_DIGIT}[A-Za-z0-9]{{40,}}+",
        "xAI, API keys",
        rf"{_WORD_STARTS}xai-{_HAS_DIGIT}[A-Za-z0-9]{{8,39}}",
        _DIGIT,
    ),
    _rule(
        "huggingface-token",
        "hf_",
        rf"{_WORD_STARTS}hf_[A-Za-z0-9]{{34,}}+{_WORD_ENDS}",
        "Hugging Face, user access tokens",
        rf"{_WORD_STARTS}hf_(?=[a-z]{{0,33}}[A-Z0-9])[A-Za-z0-9]{{4,33}}",
    ),
    _rule(
        "sendgrid-key",
        "SG.",
        rf"{_WORD_STARTS}SG\.[A-Za-z0-9_-]{{16,64}}\.[A-Za-z0-9_-]{{32,}}+",
        "SendGrid, API keys",
        rf"{_WORD_STARTS}SG\.{_HAS_DIGIT}[A-Za-z0-9_-]{{8,64}}(?:\.[A-Za-z0-9_-]{{0,31}})?",
    ),
    _rule(
        "digitalocean-token",
        "dop_v1_ doo_v1_ dor_v1_",
        r"do[por]_v1_[a-f0-9]{32,}+",
        "DigitalOcean, token prefixes",
        r"do[por]_v1_[a-f0-9]{4,31}",
    ),
    _rule(
        "google-oauth-token",
        "ya29.",
        rf"{_WORD_STARTS}ya29\.[A-Za-z0-9_.-]{{20,}}+",
        "Google, OAuth 2.0 access tokens",
        rf"{_WORD_STARTS}ya29\.[A-Za-z0-9_.-]{{4,19}}",
    ),
    _rule(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9]{4,20}/[A-Za-z0-9/]{12,}+)",
        "Slack, incoming webhooks",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9]{4,20}/[A-Za-z0-9/]{0,200})",
    ),
    _rule(
        "azure-key",
        "AccountKey= SharedAccessKey=",
        r"(?:Account|SharedAccess)Key=(?P<secret>[A-Za-z0-9+/]{40,}+={0,2})",
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
        rf"(?i:(?:aws_)?session_?token){_IS}(?P<secret>[A-Za-z0-9/+=]{{100,}}+)",
        "AWS STS, GetSessionToken",
        rf"(?i:(?:aws_)?session_?token){_IS}(?P<secret>[A-Za-z0-9/+=]{{8,99}})",
    ),
    _rule(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_",
        r"gh[pousr]_[A-Za-z0-9]{36,}+",
        "GitHub, token formats",
        r"gh[pousr]_[A-Za-z0-9]{4,35}",
    ),
    _rule(
        "github-token",
        "github_pat_",
        r"github_pat_[A-Za-z0-9_]{22,}+",
        "GitHub, token formats",
        r"github_pat_[A-Za-z0-9_]{4,21}",
    ),
    _rule(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glsoat-",
        rf"{_WORD_STARTS}gl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_.-]{{20,}}+",
        "GitLab, token prefixes",
        rf"{_WORD_STARTS}gl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_.-]{{4,19}}",
    ),
    _rule(
        "slack-token",
        "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-",
        rf"{_WORD_STARTS}xox[abeoprs]-{_HAS_DIGIT}[A-Za-z0-9-]{{10,}}+",
        "Slack, token types",
        rf"{_WORD_STARTS}xox[abeoprs]-{_HAS_DIGIT}[A-Za-z0-9-]{{4,9}}",
        _DIGIT,
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
        rf"{_WORD_STARTS}[rs]k_(?:live|test)_[A-Za-z0-9]{{16,}}+",
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
    _rule("pypi-token", "pypi-Ag", r"pypi-Ag[A-Za-z0-9_-]{50,}+", "PyPI, API tokens", r"pypi-Ag[A-Za-z0-9_-]{4,49}"),
    _key("slack-token", "xapp-", "[A-Za-z0-9-]", (20, 300), "Slack, app-level tokens", random=True),
    _key("stripe-webhook-secret", "whsec_", "[A-Za-z0-9+/]", (24, 100), "Stripe, webhook signatures", random=True),
    _rule(
        "npm-auth",
        "authToken",
        rf"(?<=_)authToken{_IS}(?P<secret>{_STANDS_FOR_NOTHING}[^\s\"'\\;…]{{8,}}+)",
        "npm, .npmrc",
        rf"(?<=_)authToken{_IS}(?P<secret>{_STANDS_FOR_NOTHING}[^\s\"'\\;…]{{4,7}})",
    ),
    _rule(
        "twilio-key",
        " ".join(f"SK{digit}" for digit in "0123456789abcdef"),
        rf"{_WORD_STARTS}SK[0-9a-f]{{32}}{_WORD_ENDS}",
        "Twilio, API keys",
        rf"{_WORD_STARTS}SK(?=[a-f]{{0,30}}[0-9])[0-9a-f]{{8,31}}",
    ),
    # Before the colon stands the bot's number, which is no secret.
    _rule(
        "telegram-token",
        ":AA",
        r"(?<=[0-9]{8}):(?P<secret>AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])",
        "Telegram, bot API: authorizing your bot",
        r"(?<=[0-9]{8}):(?P<secret>AA[A-Za-z0-9_-]{4,32})",
    ),
    # Before the dot is the bot's number in base64, 18 or 19 digits.
    SecretRule(
        "discord-token",
        (DOT,),
        "Discord, API reference: authentication",
        r"(?:(?<=(?<![A-Za-z0-9_-])[MNO][A-Za-z0-9]{23})|(?<=(?<![A-Za-z0-9_-])[MNO][A-Za-z0-9]{25}))"
        r"\.(?P<secret>[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})(?![A-Za-z0-9_-])",
    ),
    # Before the dot is the key's number.
    SecretRule(
        "zhipu-key",
        (DOT,),
        "Zhipu AI, API keys: `id.secret`",
        r"(?<=(?<![A-Za-z0-9])[0-9a-f]{32})\.(?P<secret>(?=[A-Za-z]{0,15}[0-9])(?=[a-z0-9]{0,15}[A-Z])[A-Za-z0-9]{16})(?![\w.-])",
    ),
    _rule(
        "discord-webhook",
        "/api/webhooks/",
        r"/api/webhooks/[0-9]{16,20}/(?P<secret>[A-Za-z0-9_-]{40,}+)",
        "Discord, webhook resource",
        r"/api/webhooks/[0-9]{16,20}/(?P<secret>[A-Za-z0-9_-]{4,39})",
    ),
    _rule(
        "databricks-token",
        "dapi",
        rf"{_WORD_STARTS}dapi[0-9a-f]{{32}}(?:-[0-9])?{_WORD_ENDS}",
        "Databricks, personal access tokens",
        rf"{_WORD_STARTS}dapi(?=[a-f]{{0,30}}[0-9])[0-9a-f]{{4,31}}",
    ),
    _key("langfuse-key", "sk-lf- pk-lf-", "[0-9a-f-]", (36, 36), "Langfuse, API keys"),
    _key("langsmith-key", "lsv2_pt_ lsv2_sk_", "[0-9a-f_]", (32, 60), "LangSmith, API keys"),
    _key("google-refresh-token", "1//0", "[A-Za-z0-9_-]", (30, 510), "Google, OAuth 2.0 refresh tokens"),
    _key("google-client-secret", "GOCSPX-", "[A-Za-z0-9_-]", (24, 40), "Google, OAuth 2.0 clients"),
    _rule(
        "azure-sas",
        "sig=",
        r"(?<![A-Za-z0-9])sig=(?P<secret>(?:[A-Za-z0-9+/]|%2[BbFf]){43}(?:=|%3[Dd])?)(?![A-Za-z0-9+/%])",
        "Azure Storage, service SAS: signature",
        r"(?<![A-Za-z0-9])sig=(?P<secret>(?=[A-Za-z]{0,40}[0-9+/%])(?:[A-Za-z0-9+/]|%2[BbFf]){8,42}(?:%2?)?)",
    ),
    # The fifth and sixth character of every one.
    _rule(
        "azure-client-secret",
        "Q~",
        r"(?<=[A-Za-z0-9_~.-]{3}[0-9])Q~(?P<secret>[A-Za-z0-9_~.-]{31,34})(?![A-Za-z0-9_~-])",
        "Microsoft Entra, application secrets",
        r"(?<=[A-Za-z0-9_~.-]{3}[0-9])Q~(?P<secret>[A-Za-z0-9_~.-]{4,30})",
    ),
    _key("heroku-key", "HRKU-", "[A-Za-z0-9_-]", (36, 80), "Heroku, authorization tokens", random=True),
    _key("cloudflare-token", "cfk_ cfut_ cfat_", "[A-Za-z0-9_-]", (40, 60), "Cloudflare, token formats", random=True),
    _rule(
        "cloudflare-origin-key",
        "v1.0-",
        rf"{_WORD_STARTS}v1\.0-[0-9a-f]{{24}}-[0-9a-f]{{146}}{_WORD_ENDS}",
        "Cloudflare, Origin CA keys",
        rf"{_WORD_STARTS}v1\.0-[0-9a-f]{{24}}-[0-9a-f]{{4,145}}",
    ),
    _key("notion-token", "secret_", "[A-Za-z0-9]", (43, 43), "Notion, integration tokens", random=True),
    _key("notion-token", "ntn_", "[A-Za-z0-9]", (40, 60), "Notion, integration tokens", random=True),
    _key("linear-key", "lin_api_ lin_oauth_", "[A-Za-z0-9]", (32, 80), "Linear, API keys"),
    _key("vault-token", "hvs. hvb. hvr.", "[A-Za-z0-9_-]", (24, 300), "HashiCorp Vault, token prefixes", random=True),
    _key("docker-token", "dckr_pat_ dckr_oat_", "[A-Za-z0-9_-]", (27, 60), "Docker, access tokens"),
    _key("postman-key", "PMAK-", "[0-9a-f-]", (59, 59), "Postman, API keys"),
    _key("shopify-token", "shpat_ shpca_ shppa_ shpss_", "[0-9a-fA-F]", (32, 64), "Shopify, access token formats"),
    _rule(
        "doppler-token",
        "dp.pt. dp.ct. dp.sa. dp.st. dp.scim. dp.audit.",
        rf"{_WORD_STARTS}dp\.(?:pt|ct|sa|st|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?[A-Za-z0-9]{{40,44}}{_WORD_ENDS}",
        "Doppler, auth token formats",
        rf"{_WORD_STARTS}dp\.(?:pt|ct|sa|st|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_HAS_DIGIT}[A-Za-z0-9]{{4,39}}",
    ),
    _rule(
        "age-key",
        "AGE-SECRET-KEY-1",
        r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
        "age, specification",
        r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{4,57}",
    ),
    _key("atlassian-token", "ATATT3", "[A-Za-z0-9_=-]", (60, 300), "Atlassian, API tokens"),
    _key("grafana-token", "glsa_", "[A-Za-z0-9_]", (32, 60), "Grafana, service account tokens", random=True),
    _key("newrelic-key", "NRAK-", "[A-Z0-9]", (27, 27), "New Relic, user keys"),
    _key("sentry-token", "sntryu_ sntrys_", "[A-Za-z0-9_+/=]", (40, 500), "Sentry, auth tokens", random=True),
    _key("supabase-key", "sbp_ sb_secret_", "[A-Za-z0-9_-]", (30, 60), "Supabase, API keys", random=True),
    _key("replicate-token", "r8_", "[A-Za-z0-9]", (37, 37), "Replicate, API tokens", random=True),
    _key("perplexity-key", "pplx-", "[A-Za-z0-9]", (40, 60), "Perplexity, API keys", random=True),
    _key("nvidia-key", "nvapi-", "[A-Za-z0-9_-]", (60, 80), "NVIDIA, API keys", random=True),
    _key("figma-token", "figd_", "[A-Za-z0-9_-]", (40, 60), "Figma, personal access tokens", random=True),
    _key("pulumi-token", "pul-", "[0-9a-f]", (40, 40), "Pulumi, access tokens", random=True),
    _key("rubygems-key", "rubygems_", "[0-9a-f]", (48, 48), "RubyGems, API keys"),
    _key("tailscale-key", "tskey-", "[A-Za-z0-9-]", (20, 100), "Tailscale, key prefixes", random=True),
    _rule(
        "terraform-token",
        ".atlasv1.",
        r"\.atlasv1\.(?P<secret>[A-Za-z0-9_=-]{60,70})(?![A-Za-z0-9_=-])",
        "HCP Terraform, API tokens",
        r"\.atlasv1\.(?P<secret>[A-Za-z0-9_=-]{4,59})",
    ),
    # Between other settings, or after the question mark of an address.
    _rule(
        "connection-password",
        "assword= ASSWORD= wd= WD=",
        # `Pwd=` may also be the working directory of a shell: that one begins with a slash.
        r"(?:(?:(?<=[;?&]P)|(?<=[;?&]p)|(?<=[;?&] P)|(?<=[;?&] p))(?i:assword|wd)|(?:(?<=\bP)|(?<=\bp))(?i:assword|wd)"
        r"(?=[ ]?=[^;\s\"'`]{1,128};[ ]?(?i:user|uid|server|data|database|host|port|driver|encrypt|trust|ssl|pooling|initial)))"
        rf"=(?P<secret>{_STANDS_FOR_NOTHING}(?![/~.])[^;&\s\"'`<>\\]{{1,}}+)",
        "ADO.NET and ODBC connection strings; JDBC connection URLs",
    ),
    _rule(
        "jwt",
        "eyJ",
        # Begins no later than its word, so that no word is read twice.
        rf"(?:(?<![A-Za-z0-9_+/-]){_AFTER_ESCAPE})eyJ[A-Za-z0-9_-]{{8,}}+\.eyJ[A-Za-z0-9_-]{{8,}}+\.[A-Za-z0-9_-]{{8,}}+",
        "RFC 7519",
        # In its second part or its third: the first tells only how it was made.
        rf"(?:(?<![A-Za-z0-9_+/-]){_AFTER_ESCAPE})eyJ[A-Za-z0-9_-]{{8,}}+\.eyJ[A-Za-z0-9_-]*+(?:\.[A-Za-z0-9_-]{{0,7}})?",
        r"\.eyJ",
    ),
    _rule(
        "bearer-token",
        "Bearer bearer BEARER",
        r"(?i:bearer)[ \t]{1,4}(?P<secret>(?=[A-Za-z._~+/=-]{0,99}+[0-9])[A-Za-z0-9._~+/=-]{20,}+)",
        "RFC 6750",
        r"(?i:bearer)[ \t]{1,4}(?P<secret>(?=[A-Za-z._~+/=-]{0,18}+[0-9])[A-Za-z0-9._~+/=-]{4,19})",
        _DIGIT,
    ),
    _rule(
        "basic-auth",
        "Authorization authorization AUTHORIZATION",
        # Not a word, as in `Authorization: Basic authentication`. The shortest that is masked says `a:bcd`.
        rf"(?i:authorization){_IS}(?i:basic)[ \t]{{1,4}}"
        r"(?P<secret>(?=.[a-z]{0,99}[A-Z0-9+/=])[A-Za-z0-9+/_-]{7,}+={0,2})",
        "RFC 7617",
        rf"(?i:authorization){_IS}(?i:basic)[ \t]{{1,4}}(?P<secret>(?=.[a-z]{{0,4}}[A-Z0-9+/=])[A-Za-z0-9+/_-]{{2,6}})",
    ),
    SecretRule(
        "authorization",
        ("Authorization", "authorization", "AUTHORIZATION"),
        "RFC 9110 §11.6.2: a scheme and a credential",
        rf"(?<![A-Za-z])(?i:authorization){_IS}(?:[A-Za-z][A-Za-z0-9-]{{1,20}}[ \t]{{1,4}})?+"
        rf"(?P<secret>(?={_BARE}{{0,99}}?[0-9]){_BARE}{{12,}}+)",
        is_secret=lambda match: looks_random(match["secret"][:_JUDGED]),
        needs=_DIGIT,
    ),
    SecretRule(
        "cookie",
        ("ookie", "OOKIE"),
        "RFC 6265",
        # Each value of `Cookie`, but no attributes of `Set-Cookie`.
        r"(?i:ookie)[\"'\\]{0,4}:[\"'\\ \t]{0,6}[^\s=;\"'\\]{1,100}=(?=[^\r\n0-9]{0,199}+[0-9])"
        r"(?P<secret>(?:[^\s\"'\\;]++|; ?+(?!(?i:path|domain|expires|max-age|httponly|secure|samesite|partitioned)\b))+)",
        is_secret=lambda match: looks_random(match["secret"][:_JUDGED]),
        needs=_DIGIT,
    ),
    _rule(
        "url-password",
        "://",
        # Not what stands for a password: a variable, a template, asterisks, a placeholder of ours.
        r"://[^\s/?#:@\"'`<>]{0,128}+:(?P<secret>(?![$<{*%]|\[[a-z-]+:[0-9a-f]+\]@)[^\s/?#@\"'`<>]{1,256}+)@",
        "RFC 3986 §3.2.1",
        # Of `host:8080` nobody can tell that it is none, so digits alone are left.
        r"://[^\s/?#:@\"'`<>]{0,128}+:(?P<secret>(?![$<{*%]|\[[a-z-]+:[0-9a-f]+\]|[0-9]{1,5}(?![\w@]))[^\s/?#@\"'`<>…]{1,256})",
    ),
    SecretRule(
        "url-token",
        ("://",),
        "RFC 3986 §3.2.1: a token instead of a user",
        r"://(?P<secret>[A-Za-z0-9_.~%+-]{16,256}+)(?::[^\s/?#@\"'`<>]{0,256}+)?@",
        r"://(?P<secret>[A-Za-z0-9_~%+-]{10,256}+)",
        is_secret=lambda match: looks_random(match["secret"]),
    ),
    SecretRule(
        "command-password",
        (" -u", "--user"),
        "curl: -u, --user",
        r"(?: -u|--user)[ =]?[\"'\\]{0,3}[^\s:\"'\\$]{1,64}+:(?P<secret>(?![$<{*%])[^\s\"'\\]{4,128}+)",
        is_secret=lambda match: (
            is_literal(match["secret"]) and "curl" in match.string[max(0, match.start() - 300) : match.start()]
        ),
        needs="curl",
    ),
    SecretRule(
        ASSIGNED,
        NAME_LITERALS,
        "a telling name, and a value that looks random",
        TO_VALUE,
        # There is one in every value that a name makes a secret.
        needs=_DIGIT,
        finder=find_assigned,
    ),
)
