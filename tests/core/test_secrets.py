"""What is taken for a secret and what is not. Every secret here is made when the test runs, and opens nothing."""

from __future__ import annotations

import base64
import hashlib
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.secrets import RULES, find, normalised

HEX = "0123456789abcdef"
LETTERS = string.ascii_letters + string.digits


def made(length: int, alphabet: str = LETTERS, seed: str = "") -> str:
    """Letters that look like chance, the same each time."""
    found, number = "", 0
    while len(found) < length:
        digest = hashlib.sha512(f"{seed} {number} {alphabet}".encode()).digest()
        found += "".join(alphabet[byte % len(alphabet)] for byte in digest)
        number += 1
    return found[:length]


def key_block(kind: str, end: str = "\n", width: int = 64, headers: str = "") -> str:
    body = base64.b64encode(bytes(made(600).encode())).decode()
    lines = [body[at : at + width] for at in range(0, len(body), width)]
    return f"-----BEGIN {kind}-----{end}{headers}{end.join(lines)}{end}-----END {kind}-----"


JWT = "eyJ" + base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode()[3:].rstrip("=")

ONES = {
    "aws-key-id": "AK" + "IA" + made(16, string.ascii_uppercase + "234567"),
    "github-token": "gh" + "p_" + made(36),
    "github-pat": "github" + "_pat_" + made(22) + "_" + made(59),
    "gitlab-token": "gl" + "pat-" + made(20),
    "slack-token": "xo" + "xb-" + made(12, string.digits) + "-" + made(12, string.digits) + "-" + made(24),
    "slack-app-token": "xa" + "pp-1-" + made(11, "ABC123") + "-" + made(13, string.digits) + "-" + made(64, HEX),
    "slack-webhook": "https://hooks." + "slack.com/services/T" + made(10, "ABC") + "/B" + made(34),
    "stripe-key": "sk" + "_live_" + made(24),
    "stripe-webhook": "wh" + "sec_" + made(32),
    "google-api-key": "AI" + "za" + made(35),
    "google-client-secret": "GOC" + "SPX-" + made(28),
    "google-access-token": "ya" + "29." + made(60),
    "anthropic-key": "sk-" + "ant-api03-" + made(93) + "AA",
    "openai-key": "sk-" + "proj-" + made(74) + "T3Blbk" + "FJ" + made(74),
    "npm-token": "npm" + "_" + made(36),
    "pypi-token": "pypi-" + "AgEIcHlwaS5vcmc" + made(120),
    "hugging-face-token": "h" + "f_" + made(34),
    "sendgrid-key": "S" + "G." + made(22) + "." + made(43),
    "digitalocean-token": "dop" + "_v1_" + made(64, HEX),
    "shopify-token": "shp" + "at_" + made(32, HEX),
    "docker-token": "dckr" + "_pat_" + made(27),
    "vault-token": "hv" + "s." + made(95),
    "telegram-token": made(9, "123456789") + ":A" + "A" + made(33),
    "azure-key": "Account" + "Key=" + made(86) + "==",
    "age-key": "AGE-SECRET" + "-KEY-1" + made(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    "jwt": JWT + "." + "ey" + "J" + made(40) + "." + made(43),
    "url-password": "postgres://app:" + made(12) + "@db.internal:5432/shop",
    "private-key": key_block("RSA PRIVATE" + " KEY"),
    "assigned-secret": "password: " + made(14),
}  # fmt: skip

NEAR = {
    "aws-key-id": ["AKIA" + "IOSFODNN7EXAMPLE", "AKIA" + "A" * 16, "an AKIA is followed by 16 letters"],
    "github-token": ["gh" + "p_" + "x" * 36, "gh" + "p_" + made(20), "tokens begin with gh" + "p_ or gho_"],
    "github-pat": ["github" + "_pat_" + made(22)],
    "gitlab-token": ["gl" + "pat-" + "your-access-token-here", "gl" + "pat-" + made(9)],
    "slack-token": ["xo" + "xb-not-a-token-at-all", "xo" + "xb-123456789012-" + "x" * 24],
    "slack-app-token": ["xa" + "pp-1-A-2"],
    "slack-webhook": "https://hooks." + "slack.com/services/T" + made(10, "ABC") + "/B" + made(34),
    "stripe-key": ["sk" + "_live_...", "task_live_" + made(24), "sk" + "_test_" + "x" * 24],
    "stripe-webhook": ["wh" + "sec_" + "x" * 32],
    "google-api-key": ["AI" + "za" + made(34), "AI" + "za" + made(40)],
    "google-client-secret": ["GOC" + "SPX-" + made(10)],
    "google-access-token": ["ya" + "29.short"],
    "anthropic-key": ["sk-" + "ant-api03-...", "sk-" + "ant-api03-" + "x" * 95],
    "openai-key": [
        "risk-proj-based-prioritisation-of-all-the-quarterly-work-that-there-is",
        "sk-" + "proj-" + made(60),
        "disk-" + made(60),
    ],
    "npm-token": ["npm" + "_" + made(12), "npm_config_registry_is_set_in_the_settings_of_ci"],
    "pypi-token": ["pypi-" + "AgEIcHlwaS5vcmc..."],
    "hugging-face-token": ["h" + "f_hub_download_with_all_of_its_parts_"],
    "sendgrid-key": ["MSG.with.dots"],
    "digitalocean-token": ["dop" + "_v1_" + made(63, HEX)],
    "shopify-token": ["shp" + "at_" + made(31, HEX)],
    "docker-token": ["dckr" + "_pat_"],
    "vault-token": ["hv" + "s." + made(20)],
    "telegram-token": ["12:A" + "A" + made(33), "a:A" + "A" + made(33)],
    "azure-key": ["Account" + "Key=<key>"],
    "age-key": ["AGE-SECRET" + "-KEY-1..."],
    "jwt": ["ey" + "J" + made(40) + "." + "ey" + "J" + made(40) + "." + made(43), JWT],
    "url-password": [
        "https://user:password@host/path",
        "postgres://postgres:postgres@localhost/db",
        "postgres://app:${DB_PASSWORD}@db/shop",
        "postgres://app:<password>@db/shop",
        "https://example.com:8080/path@v2",
        "git@github.com:owner/name.git",
        "http://localhost:4000",
    ],
    "private-key": [
        "-----BEGIN PRIVATE" + " KEY-----\n...\n-----END PRIVATE" + " KEY-----",
        "it begins with -----BEGIN PRIVATE" + " KEY----- and Then Come 12 Lines of Base64 that Nobody may Read or keep",
        "-----BEGIN CERTIFICATE-----\n" + made(600),
        "-----BEGIN PUBLIC" + " KEY-----\n" + made(600),
    ],
    "assigned-secret": [
        "password: see the vault, entry 12",
        "password: correct-horse-battery-staple",
        "password hashing: argon2id, with PBKDF2-SHA256 before",
        "password: at-least-8-characters",
        "the token is 590a9e22b08d now",
        "token: 590a9e22b08d",
        "tokens: 12000, tokenizer = unicode61RemoveDiacritics2",
        "token_count=1234567890123456789",
        "session token: 123e4567-e89b-12d3-a456-426614174000",
        "api_key = os.environ['API_KEY_FOR_2024']",
        "secret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop-a1B2c3",
        "secret: op://vault/item9x/field2y",
        "private_key: ~/.ssh/id_ed25519_2024",
        "token=getToken2(fromVault3)",
        "DB_PASSWORD=changeme123!",
        "api key: staging-payments-service-key-2024",
        "the secret is 1 file, see docs/secrets/2024-01-01.md",
        "密码在保险库里，第 12 条",
        "| token | 12 hex characters |",
    ],
}  # fmt: skip


def rules(text: str) -> list[str]:
    return [finding.rule for finding in find(text)]


def test_h34_harmless_text_raises_no_alarm():
    ok = [
        "risk-based-prioritisation-of-quarterly-work",
        "worktree-isolated-task-can-be-reclaimed-midway",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "the file starts with -----BEGIN " + "RSA PRIVATE KEY----- as usual",
        "set API_KEY=<your key>",
        "export TOKEN=${CI_TOKEN}",
        "password: see the vault, entry 12",
        "公開鍵は別紙",
        "AKIA................",
    ]
    assert [find(text) for text in (*ok, "\n".join(ok))] == [[]] * 12


def test_every_rule_is_shown_here():
    assert set(ONES) == set(NEAR) == {rule.name for rule in RULES} | {"url-password", "private-key", "assigned-secret"}


@pytest.mark.parametrize("rule", ONES)
def test_a_rule_finds_what_its_issuer_gives_out_wherever_it_stands(rule: str):
    one = ONES[rule]
    for text in (one, f"first line\nuse {one}.\n", f'- key: "{one}"\n', f"说{one}，对吗"):
        assert rule in rules(text), text
    found = find(f"a\nb\n{one}\n")
    assert [finding.line for finding in found if finding.rule == rule] == [3]


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in NEAR.items() for text in texts])
def test_what_only_looks_like_one_raises_no_alarm(rule: str, text: str):
    assert rules(f"- {text}\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD=Tr0ub4dor&3x",
        "API_KEY = '{}'",
        '"clientSecret": "{}"',
        "- **Token:** `{}`",
        "| access key | {} |",
        "curl --token {} https://host",
        "Authorization: Bearer {}",
        "the password is {}",
        "密码：{}",
        "数据库密码是 {}",
        "パスワードは{}",
        "SECRET_KEY=" + made(64, HEX),
    ],
)
def test_a_value_that_looks_random_under_a_name_that_says_so_is_one(text: str):
    assert rules(text.format(made(32))) == ["assigned-secret"]


@pytest.mark.parametrize("kind", ["RSA PRIVATE", "EC PRIVATE", "OPENSSH PRIVATE", "ENCRYPTED PRIVATE", "PRIVATE"])
@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"end": "\r\n"},
        {"end": "\\n"},
        {"end": "\n> "},
        {"end": "\n    "},
        {"width": 16},
        {"width": 4},
        {"headers": "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n\n"},
    ],
)
def test_key_material_is_found_however_its_lines_are_wrapped(kind: str, shape: dict[str, object]):
    assert rules(f"it is\n{key_block(f'{kind} KEY', **shape)}\n") == ["private-key"]  # type: ignore[arg-type]  # by name


def test_a_block_of_pgp_with_its_headers_is_one():
    assert rules(key_block("PGP PRIVATE" + " KEY BLOCK", headers="Version: GnuPG v2\nComment: mine\n\n")) == [
        "private-key"
    ]


@pytest.mark.parametrize("rule", ONES)
def test_what_cannot_be_seen_and_other_forms_of_letters_hide_nothing(rule: str):
    one = ONES[rule]
    wide = "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in one)
    broken = "\u200b".join(one)
    soft = one[:10] + "\u00ad\ufeff" + one[10:]
    for text in (wide, broken, soft):
        assert rule in rules(text)
        assert find(text)[0].fingerprint == find(one)[0].fingerprint


def test_a_finding_tells_the_secret_to_nobody_and_is_the_same_for_the_same_secret():
    one = ONES["github-token"]
    (found,), (again,) = find(one), find(f"\n\nit was {one} all along")
    assert one[4:] not in repr(found) and found.fingerprint == again.fingerprint and again.line == 3
    (salted,) = find(one, salt=b"of this store")
    assert salted.fingerprint != found.fingerprint
    assert find("gh" + "p_" + made(36, seed="other"))[0].fingerprint != found.fingerprint


def test_all_are_found_in_their_order_and_one_secret_is_one_finding():
    text = f"token: {ONES['github-token']}\n\npassword: {made(14)}\n{ONES['npm-token']}\n"
    assert [(one.rule, one.line) for one in find(text)] == [
        ("github-token", 1),
        ("assigned-secret", 3),
        ("npm-token", 4),
    ]


def test_a_token_in_an_address_is_one_finding():
    assert rules(f"git clone https://x-access-token:{ONES['github-token']}@github.com/a/b") == ["github-token"]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200))
def test_lines_keep_their_numbers_and_any_text_can_be_searched(text: str):
    assert normalised(text).count("\n") == text.count("\n")
    assert len(normalised(text).lower()) == len(normalised(text))
    find(text)


@given(
    st.lists(st.sampled_from(["risk", "task", "token", "password", "secret", "key", "is", "the", "sk", "of", "2024"]))
)
def test_words_alone_are_never_a_secret(words: list[str]):
    for between in (" ", "-", "_", ": ", "="):
        assert find(between.join(words)) == []


@given(
    st.sampled_from(sorted(ONES)), st.text(alphabet=" \nabc,.:!", max_size=30), st.text(alphabet=" \n,.!", max_size=30)
)
def test_words_around_it_hide_no_secret(rule: str, before: str, after: str):
    assert rule in rules(f"{before} {ONES[rule]} {after}")


@pytest.mark.parametrize(
    "unit",
    [
        "a", "A1", "password=", "password is ", "token: ", "token\t", "pwd", "密码是", "--token ", "sk-proj-", "eyJ",
        "sk-ant-api03-", "eyJaaaaaaaaaaa.", "://a:", "ghp_", "glpat-", "xoxb-1-", "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nProc-Type: 4\n", "\ufdfa", "\uff21", "\u200b", "tokens:token:",
        f"password: {made(12)}\n", "http://u:p4ssw0rd9@h ",
    ],
)  # fmt: skip
def test_hostile_text_takes_time_by_its_length_only(unit: str):
    text = unit * (250_000 // len(unit.encode()))
    begun = time.process_time()
    find(text)
    assert time.process_time() - begun < 0.5  # 0.05 on a quiet machine; what grows with the square takes minutes
