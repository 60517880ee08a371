"""Planted secrets of many kinds are found, and what only looks like one is left alone."""

from __future__ import annotations

import random
import string

import pytest

from rewind.checkpoint.share.giving.find_secrets import find_secrets
from rewind.checkpoint.share.giving.secret_file_names import is_lock_file

_chance = random.Random(24)


def of(letters: str, count: int) -> str:
    return "".join(_chance.choice(letters) for _ in range(count))


LOWER_HEX, WORD = "0123456789abcdef", string.ascii_letters + string.digits
URL = WORD + "_-"
KEY_BODY = "\n".join(of(WORD + "+/", 64) for _ in range(12))

# Each is made here, piece by piece: none of them was ever valid, and none stands in this file.
PLANTED = {
    "aws-access-key": "AKIA" + of(string.ascii_uppercase + "234567", 16),
    "aws-secret-key": "aws_secret_access_key = " + of(WORD + "/+", 40),
    "github-token": "ghp_" + of(WORD, 36),
    "github-token fine": "github_pat_" + of(WORD, 22) + "_" + of(WORD, 59),
    "gitlab-token": "glpat-" + of(URL, 20),
    "slack-token": "xoxb-" + of(string.digits, 12) + "-" + of(WORD, 24),
    "slack-webhook": f"https://hooks.slack.com/services/T{of(WORD, 8)}/B{of(WORD, 8)}/{of(WORD, 24)}",
    "discord-webhook": "https://discord.com/api/webhooks/" + of(string.digits, 18) + "/" + of(URL, 67) + "a",
    "stripe-key": "sk_live_" + of(WORD, 24),
    "openai-key": "sk-" + of(WORD, 20) + "T3BlbkFJ" + of(WORD, 20),
    "openai-key project": "sk-proj-" + of(URL, 60) + "a",
    "anthropic-key": "sk-ant-api03-" + of(URL, 90) + "a",
    "google-api-key": "AIza" + of(URL, 34) + "a",
    "google-oauth-secret": "GOCSPX-" + of(URL, 27) + "a",
    "google-oauth-token": "ya29." + of(URL, 80) + "a",
    "npm-token": "npm_" + of(WORD, 36),
    "npm-token rc": "//registry.example.org/:_authToken=" + of(LOWER_HEX, 36),
    "pypi-token": "pypi-AgEIcHlwaS5vcmc" + of(URL, 80) + "a",
    "rubygems-key": "rubygems_" + of(LOWER_HEX, 48),
    "docker-token": "dckr_pat_" + of(URL, 26) + "a",
    "twilio-key": "SK" + of(LOWER_HEX, 32),
    "sendgrid-key": "SG." + of(URL, 22) + "." + of(URL, 42) + "a",
    "mailgun-key": "key-" + of(LOWER_HEX, 32),
    "mailchimp-key": of(LOWER_HEX, 32) + "-us12",
    "telegram-token": of("123456789", 9) + ":AA" + of(URL, 32) + "a",
    "digitalocean-token": "dop_v1_" + of(LOWER_HEX, 64),
    "huggingface-token": "hf_" + of(WORD, 34),
    "azure-storage-key": "AccountName=a;AccountKey=" + of(WORD + "+/", 86) + "==",
    "azure-client-secret": of(WORD, 3) + "8Q~" + of(WORD, 34),
    "shopify-token": "shpat_" + of(LOWER_HEX, 32),
    "square-token": "sq0atp-" + of(URL, 21) + "a",
    "databricks-token": "dapi" + of(LOWER_HEX, 32),
    "linear-key": "lin_api_" + of(WORD, 40),
    "notion-token": "ntn_" + of(WORD, 46),
    "atlassian-token": "ATATT3" + of(URL, 100) + "a",
    "vault-token": "hvs." + of(URL, 90) + "a",
    "terraform-token": of(WORD, 14) + ".atlasv1." + of(URL, 66) + "a",
    "grafana-token": "glsa_" + of(WORD, 32) + "_" + of(LOWER_HEX, 8),
    "sentry-token": "sntrys_" + of(WORD, 80),
    "newrelic-key": "NRAK-" + of(string.ascii_uppercase + string.digits, 27),
    "replicate-token": "r8_" + of(WORD, 37),
    "groq-key": "gsk_" + of(WORD, 52),
    "perplexity-key": "pplx-" + of(WORD, 48),
    "age-key": "AGE-SECRET-KEY-1" + of(string.ascii_uppercase + string.digits, 58),
    "jwt": "eyJ" + of(URL, 30) + ".eyJ" + of(URL, 60) + "." + of(URL, 42) + "a",
    "private-key": "-----BEGIN RSA PRIVATE KEY-----\n" + KEY_BODY + "\n-----END RSA PRIVATE KEY-----",
    "private-key openssh": "-----BEGIN OPENSSH PRIVATE KEY-----\n" + KEY_BODY + "\n",
    "private-key in json": ('"key": "-----BEGIN PRIVATE KEY-----\\n' + KEY_BODY.replace("\n", "\\n")
                            + '\\n-----END PRIVATE KEY-----"'),
    "authorization": "curl -H 'Authorization: Bearer " + of(WORD, 40) + "'",
    "url-password": "https://deploy:" + of(WORD, 16) + "@git.company.org/app.git",
    "url-password database": "DATABASE_URL=postgres://app:" + of(WORD, 14) + "@db.internal:5432/app",
    "url-password that begins as usual": "redis://app:admin" + of(WORD, 12) + "@cache.company.org",
    "assigned-secret": "PASSWORD = '" + of(WORD, 20) + "1'",
    "assigned-secret env": "export DB_PASSWORD=" + of(WORD, 24) + "7",
    "assigned-secret yaml": "  api_key: \"" + of(WORD, 32) + "3\"",
    "assigned-secret json": '{"client_secret": "' + of(WORD, 32) + '3"}',
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_secret_is_found(name: str) -> None:
    text = f"# settings of the program\n{PLANTED[name]}\nname = value\n"
    found = find_secrets(text.encode())
    assert [one.kind for one in found] == [name.split()[0]]
    secret = text.encode()[found[0].start:found[0].end].decode()
    assert secret in PLANTED[name] or secret.startswith(PLANTED[name])  # a key without an end ends somewhere


HARMLESS = [
    "postgresql://scott:tiger@db.company.org/x", "mysql://root:" + of(WORD, 12) + "@localhost/x",
    "self._password = raw_password1", "password1_field='password1'", "TOKEN = MASKED_TEST_SECRET2",
    "password = os.environ['DB_PASSWORD']", "token = request.headers.get('Authorization')",
    "password: str = Field(default=None)", 'PASSWORD = "changeme"', "api_key = <your-api-key>",
    "API_KEY=xxxxxxxxxxxxxxxxxxxxxxxx", "secret_name = 'user_token_2'", "token_type: bearer",
    "AKIAIOSFODNN7EXAMPLE", "password = 'correct horse battery'", "https://user:password@example.com/",
    "https://${USER}:${PASS}@host/", "max_tokens: 4096", "input_tokens=128000",
    "access_token_url = '/oauth/v2'",
    "integrity: sha512-abc", "-----BEGIN PUBLIC KEY-----",
    "if line.startswith('-----BEGIN RSA PRIVATE KEY-----'):",
    "task-0123456789abcdef0123456789abcdef", "git@github.com:org/repo.git",
    "tokenizer = AutoTokenizer.from_x('gpt2')",
    "commit 3f2504e04f8911d39a0c0305e82c3301", "uuid = '3f2504e0-4f89-11d3-9a0c-0305e82c3301'",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_is_left_alone(text: str) -> None:
    assert [one.kind for one in find_secrets(text.encode() + b"\n")] == []


def test_hashes_in_lock_files_are_no_secrets() -> None:
    line = f'"token": {{"integrity": "sha512-{of(WORD, 60)}", "secret": "{of(WORD, 32)}7"}}'.encode()
    assert is_lock_file(b"a/package-lock.json") and is_lock_file(b"uv.lock")
    assert find_secrets(line) and not find_secrets(line, well_known_only=True)
