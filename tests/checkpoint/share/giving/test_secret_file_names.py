"""Files whose names tell that they hold a secret."""

from __future__ import annotations

import pytest

from rewind.checkpoint.share.giving.secret_file_names import secret_by_name, secret_by_name_and_content


@pytest.mark.parametrize("path", [b".env", b"a/.env", b".env.production", b"id_rsa", b"ssh/id_ed25519",
                                  b".netrc", b"store.p12", b"prod.tfstate", b".git-credentials", b".pgpass"])
def test_some_names_are_enough(path: bytes) -> None:
    assert secret_by_name(path)


@pytest.mark.parametrize("path", [b".env.example", b".env.sample", b"env.py", b"id_rsa.pub", b"environment",
                                  b"src/token.py", b"README.md", b".npmrc"])
def test_other_names_are_not(path: bytes) -> None:
    assert not secret_by_name(path)


def test_some_names_need_the_content() -> None:
    assert secret_by_name_and_content(b".npmrc", b"//r/:_authToken=x")
    assert not secret_by_name_and_content(b".npmrc", b"save-exact=true\n")
    assert secret_by_name_and_content(b"gcp/credentials.json", b'{"private_key": ""}')
    assert not secret_by_name_and_content(b"credentials.json", b"{}")
