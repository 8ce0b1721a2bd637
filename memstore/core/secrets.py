"""Whether a text holds a key, a token or a password: the rule table and the normaliser. Pure.

A rule fires on the exact shape that its issuer publishes, on a key block with key material in it, on a password inside
an address, and on a value assigned to a name such as `password` only where that value looks random. An alarm about
harmless text invites people to switch the alarm off, so words with hyphens, digests, ids, references to where a secret
is kept and placeholders are none.

Every pattern begins at a literal or at the beginning of a run and takes a run as a whole, so the time grows with the
length of the text and nothing else. A finding holds a keyed hash of the secret, never the secret.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import islice
from typing import Final
from unicodedata import category, normalize


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret in a text. `line`: from 1. `fingerprint`: the same for the same secret and the same salt."""

    rule: str
    line: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One shape: one of the `beginnings`, then `rest`, a pattern. `judge`: whether what is taken is a secret.

    The secret is the pattern's group `s`, or else all of it. `inside`: other letters may stand right before it.
    """

    name: str
    beginnings: str
    rest: str
    judge: Callable[[str], bool]
    inside: bool = False


_Found = tuple[int, int, str, str]
"""Where it begins and ends, the rule, the secret."""

MOST = 100
"""Findings of one kind of search: a text that has more is full of them."""


def find(text: str, *, salt: bytes = b"") -> list[Finding]:
    """The secrets in a text, in their order. `salt`: with it, whoever has a fingerprint cannot try passwords on it."""
    plain = normalised(text)
    return list(_findings(plain, _searched(plain), salt))


def masked(text: str) -> str:
    """The text with every secret as `***`; as it is where it holds none."""
    plain = normalised(text)
    shown: list[str] = []
    reached = 0
    for start, end, _, _ in _searched(plain):
        if start >= reached:
            shown += (plain[reached:start], "***")
        reached = max(reached, end)
    return "".join((*shown, plain[reached:])) if shown else text


def normalised(text: str) -> str:
    """A text with full-width and other forms of ASCII as ASCII, and without what cannot be seen; its lines stay."""
    return text if text.isascii() else text.translate(_PLAIN)


def is_placeholder(value: str) -> bool:
    """Whether a value only stands for one: `<your key>`, `${TOKEN}`, `xxxx`, an example of a manual."""
    if value[:1] in "$%{<[(#&" or _STANDS_FOR.search(value[:400]):
        return True
    return len(set(value[-12:])) <= 2 or len(set(value[:400])) <= 4


# What is told of them


def _searched(plain: str) -> list[_Found]:
    """In the order of the text."""
    found = list(islice((one for rule in RULES for one in _of_rule(rule, plain)), MOST))
    for others in ((*_of_rule(_URL, plain), *_key_blocks(plain)), _assigned(plain)):
        taken = sorted((start, end) for start, end, _, _ in found)
        found += _apart(sorted(islice(others, MOST)), taken)
    return sorted(found)


def _of_rule(rule: Rule, plain: str) -> Iterator[_Found]:
    for beginning in rule.beginnings.split():
        if beginning not in plain:
            continue
        for match in _pattern(rule, beginning).finditer(plain):
            group = "s" if "s" in match.re.groupindex else 0
            if rule.judge(match[group]):
                yield (*match.span(group), rule.name, match[group])


@cache
def _pattern(rule: Rule, beginning: str) -> re.Pattern[str]:
    """The beginning comes first: so it is looked for as fast as can be. `sk-` in `risk-based` begins no key."""
    literal = re.escape(beginning)
    return re.compile(literal + ("" if rule.inside else f"(?<![A-Za-z0-9_-]{literal})") + rule.rest)


def _findings(plain: str, found: Iterable[_Found], salt: bytes) -> Iterator[Finding]:
    line, reached = 1, 0
    for start, _, rule, secret in found:
        line += plain.count("\n", reached, start)
        reached = start
        digest = blake2b(f"{rule}\0{secret}".encode("utf-8", "replace"), digest_size=8, key=salt[:64])
        yield Finding(rule, line, digest.hexdigest())


def _apart(found: Iterable[_Found], taken: Sequence[tuple[int, int]]) -> Iterator[_Found]:
    """Those that are no part of what a rule has found already. Both are in the order of the text."""
    at = 0
    for one in found:
        while at < len(taken) and taken[at][1] <= one[0]:
            at += 1
        if at == len(taken) or taken[at][0] >= one[1]:
            yield one


# The normaliser

_DASHES: Final = frozenset("\u2010\u2011\u2012\u2013\u2014\u2212")


class _Plain(dict[int, str | None]):
    """For `str.translate`: each character becomes one of ASCII that it is a form of, itself, or nothing."""

    def __missing__(self, code: int) -> str | None:
        self[code] = found = _plain(chr(code))
        return found


def _plain(character: str) -> str | None:
    if character in _DASHES:
        return "-"
    if character == "İ":  # the one character that is longer in lower case
        return "I"
    if category(character) == "Cf" or "\ufe00" <= character <= "\ufe0f":
        return None
    form = normalize("NFKC", character)
    return form if len(form) == 1 and form.isascii() and form not in "\r\n" else character


_PLAIN: Final = _Plain()

# What is no secret

_STANDS_FOR: Final = re.compile(
    r"(?i)example|placeholder|your[-_ ]|your(?:token|key|password|secret)|change[-_]?me|redacted"
    r"|dummy|\bfake|sample|\btodo\b|\.\.\.|…|\*\*\*|xxxx|----|<[^>]{0,40}>|\$\{|\{\{|%\(|\bnone\b|\bnull\b|deadbeef|abcdefghij|0123456789"
)
_REFERENCE: Final = re.compile(
    r"(?i)(?:sha-?\d+|md5|arn|urn|env|file|vault|ref|blake\w*)[:=-]|[a-z][\w+.-]{0,30}://|[~.]{0,2}/|[A-Za-z]:\\|\w+[\[(]"
    r"|(?:os|process|self|config|settings|env|secrets)\.\w"
)
_ID_OR_DATE: Final = re.compile(
    r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d(?:[t ][\d:.]*(?:z|[+-][\d:]+)?)?"
)
_ALGORITHM: Final = re.compile(
    r"(?i)argon|bcrypt|scrypt|pbkdf|hmac|sha\d|sha-|md5|oauth|saml|base64|utf-?\d|ascii|ed25519|rsa\d|aes|jwt|[rehp]s\d{3}$"
)
_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_CHUNKS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_DIGIT: Final = re.compile(r"[0-9]")
_STRONG: Final = re.compile(r"[!@#$%^&*~]")


def _entropy(value: str) -> float:
    """Bits for each character."""
    length = len(value)
    return -sum(count / length * math.log2(count / length) for count in Counter(value).values())


def _looks_random(value: str) -> bool:
    """Whether letters and digits change so often that these are no words, names or versions."""
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    return letters > 2 and digits > 0 and len(value) < 3 * len(_CHUNKS.findall(value))


def _is_secret_value(value: str, *, password: bool) -> bool:
    """Whether what is assigned to a name that says so is a secret."""
    if not _DIGIT.search(value) or not value.isascii():
        return False
    if _HEX.fullmatch(value):
        fits = len(value) >= 32 and _entropy(value) > 3
    elif password:
        fits = len(value) >= 8 and (_looks_random(value) or _has_marks(value))
    else:
        fits = len(value) >= 16 and _looks_random(value) and _entropy(value) > 3
    return fits and not (
        is_placeholder(value) or _REFERENCE.match(value) or _ID_OR_DATE.fullmatch(value) or _ALGORITHM.search(value)
    )


def _has_marks(value: str) -> bool:
    return _STRONG.search(value) is not None and any(map(str.isalpha, value))


def _is_password_of_url(value: str) -> bool:
    """`user:password@`: one that is not spelled out as a word for a password."""
    user, _, password = value.partition(":")
    plain = password.casefold()
    return not (
        is_placeholder(password)
        or plain in (user.casefold(), "password", "passwd", "pass", "pwd", "pw", "secret", "token", "test", "postgres")
        or len(password) < 4
    )


def _is_jwt(value: str) -> bool:
    head = value.partition(".")[0]
    try:
        found = json.loads(base64.urlsafe_b64decode(head[:4_000] + "=" * (-len(head) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return False
    return isinstance(found, dict) and "alg" in found


# The table


def _is_meant(value: str) -> bool:
    return not is_placeholder(value)


def _has_digit(value: str) -> bool:
    return _is_meant(value) and any(map(str.isdigit, value))


def _is_openai(value: str) -> bool:
    return _is_meant(value) and ("T3BlbkFJ" in value or len(value) == 51)


RULES: Final[tuple[Rule, ...]] = (
    Rule("aws-key-id", "AKIA ASIA ABIA ACCA", r"[A-Z2-7]{16}(?![A-Za-z0-9])", _is_meant),
    Rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,}+", _is_meant),
    Rule("github-pat", "github_pat_", r"[A-Za-z0-9]{22}_[A-Za-z0-9]{59}(?![A-Za-z0-9])", _is_meant),
    Rule("gitlab-token", "glpat- gldt- glrt- glptt- glcbt- glft- glimt- gloas- glsoat- glagent-",
         r"[\w-]{20,}+(?:\.[0-9a-z]{2}\.?[0-9a-z]{7})?", _has_digit),
    Rule("slack-token", "xoxa- xoxb- xoxp- xoxo- xoxr- xoxs- xoxe-",
         r"(?:[0-9]{1,14}-){1,3}[A-Za-z0-9]{16,}+", _is_meant),
    Rule("slack-app-token", "xapp-", r"[0-9]-[A-Z0-9]{9,12}-[0-9]{10,14}-[a-z0-9]{40,}+", _is_meant),
    Rule("slack-webhook", "https://hooks.slack.com/",
         r"(?:services|workflows|triggers)/T[A-Z0-9]{8,12}/[\w/]{20,}+", _is_meant),
    Rule("stripe-key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", r"[A-Za-z0-9]{16,}+", _is_meant),
    Rule("stripe-webhook", "whsec_", r"[A-Za-z0-9+/]{32,}+", _is_meant),
    Rule("google-api-key", "AIza", r"[\w-]{35}(?![\w-])", _is_meant),
    Rule("google-client-secret", "GOCSPX-", r"[\w-]{28}(?![\w-])", _is_meant),
    Rule("google-access-token", "ya29.", r"[\w-]{30,}+", _is_meant),
    Rule("anthropic-key", "sk-ant-", r"(?:api|admin|oat|ort|sid)[0-9]{2}-[\w-]{60,}+", _is_meant),
    Rule("openai-key", "sk-", r"(?:(?:proj|svcacct|admin)-[\w-]{40,}+|[A-Za-z0-9]{48,}+)", _is_openai),
    Rule("npm-token", "npm_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])", _is_meant),
    Rule("pypi-token", "pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw", r"[\w-]{50,}+", _is_meant),
    Rule("hugging-face-token", "hf_", r"[A-Za-z0-9]{34}(?![A-Za-z0-9])", _is_meant),
    Rule("sendgrid-key", "SG.", r"[\w-]{22}\.[\w-]{43}(?![\w-])", _is_meant),
    Rule("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{64}(?![0-9a-f])", _is_meant),
    Rule("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{32}(?![0-9a-fA-F])", _is_meant),
    Rule("docker-token", "dckr_pat_ dckr_oat_", r"[\w-]{27,}+", _is_meant),
    Rule("vault-token", "hvs. hvb.", r"[\w-]{80,}+", _is_meant),
    Rule("telegram-token", ":AA", r"(?<=[0-9]{8}:AA)[\w-]{33}(?![\w-])", _is_meant, inside=True),
    Rule("azure-key", "AccountKey=", r"(?P<s>[A-Za-z0-9+/]{86}==)", _is_meant),
    Rule("age-key", "AGE-SECRET-KEY-1", r"[02-9AC-HJ-NP-Z]{58}", _is_meant),
    Rule("jwt", "eyJ", r"[\w-]{10,}+\.eyJ[\w-]{10,}+\.[\w-]{16,}+", _is_jwt),
)  # fmt: skip
"""What issuers publish of the shapes of their keys."""

_URL: Final = Rule(
    "url-password",
    "://",
    r"(?P<s>[^\s/:@\"'<>]{0,100}+:[^\s/@\"'<>]{1,200}+)@(?=[\w\[])",
    _is_password_of_url,
    inside=True,
)
"""A password in an address."""

# Key blocks

_KEY_BLOCK: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_GAP: Final = r"(?:[\s|>\"'+,]|\\[nrt])"
_HEADERS: Final = re.compile(rf"{_GAP}{{0,40}}+(?:[A-Z][A-Za-z-]{{2,30}}: [^\n\\]{{0,200}}+{_GAP}{{1,40}}+){{0,6}}+")
_BODY: Final = re.compile(rf"(?:[A-Za-z0-9/=]|{_GAP}){{1,400}}+")
_SPACES: Final = re.compile(r"(?<=\S)[ \t]+(?=[^\s|>\\])")
_NOT_MATERIAL: Final = re.compile(r"\\[nrt]|[^A-Za-z0-9+/]")
_RUN: Final = re.compile(r"[A-Za-z0-9+/]{20}")


def _key_blocks(plain: str) -> Iterator[_Found]:
    if "PRIVATE KEY" not in plain:
        return
    for match in _KEY_BLOCK.finditer(plain):
        headers = _HEADERS.match(plain, match.end())
        body = _BODY.match(plain, match.end() if headers is None else headers.end())
        if body is None:
            continue
        material = _NOT_MATERIAL.sub("", body[0])
        words = _RUN.search(body[0]) is None and _SPACES.search(body[0].split("\n\n")[0])
        random = len(material) >= 40 and _entropy(material) > 4 and _looks_random(material)
        if random and not words:
            yield match.start(), body.end(), "private-key", material


# Values that are assigned to names

_KEYS: Final = ("api", "access", "account", "auth", "private", "signing", "encryption", "master")
_PASSWORDS: Final = (
    "password", "passwd", "passphrase", "passcode", "passwort", "pwd", "kennwort", "contraseña", "пароль", "密码",
    "密碼", "口令", "パスワード", "비밀번호",
)  # fmt: skip
_NAMES: Final = (
    *_PASSWORDS, "token", "secret", "credential", "bearer", "密钥", "密鑰", "令牌", "トークン", "토큰",
    *(f"{kind}{between}key" for kind in _KEYS for between in ("", "-", "_", " ")),
)  # fmt: skip
_SIGN: Final = re.compile(
    r"(?P<rest>[a-z0-9_-]{0,40}+)[\"'`*_\])]{0,4}+[ \t]{0,3}+"
    r"(?P<sign>=>|:=|==?|:|\||是|为|為|は|が|(?:is|lautet|ist)\b)?"
    r"[ \t\"'`*_(\[]{0,8}+(?:(?:bearer|basic)[ \t]{1,3}+)?"
)
"""In lower case, what stands between a name and its value."""

_VALUE: Final = re.compile(r"[^\s\"'`,;|<>=]{8,400}+")

_OTHER: Final = (
    " id ids name names file path url uri count limit limits type version length len size field header env policy hash"
    " sha digest fingerprint checksum prefix format scheme ttl expiry expires at store manager budget usage "
)
"""The last word of names of what is about a secret, and none."""


def _assigned(plain: str) -> Iterator[_Found]:
    lower, reached = plain.lower(), 0  # as long as it was: see `_plain`
    for start, name in sorted((at, word) for word in _NAMES for at in _places(lower, word)):
        between = _SIGN.match(lower, start + len(name)) if start >= reached else None
        if between is None:
            continue
        option = lower[max(start - 2, 0) : start] == "--" or name == "bearer"
        if not (between["sign"] or option) or not _names_secret(
            plain[start : start + len(name)], plain[slice(*between.span("rest"))]
        ):
            continue
        value = _VALUE.match(plain, between.end())
        if value is None:
            continue
        reached = value.end()
        secret = value[0].rstrip(".:)]}*_")
        if _is_secret_value(secret, password=name in _PASSWORDS):
            yield value.start(), value.start() + len(secret), "assigned-secret", secret


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _names_secret(word: str, rest: str) -> bool:
    """Whether a name means a secret: `token`, `tokenValue`, `TOKEN_2`; not `tokenizer`, `tokens`, `token_count`."""
    if rest[:1].isalpha() and (rest[0].islower() or word.isupper()):
        return False
    words = _CHUNKS.findall(rest)
    return not words or f" {words[-1].lower()} " not in _OTHER
