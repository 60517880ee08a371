"""Which files hold a secret, judging by the name alone, or by the name and a word in the file.

`docs/share.md` lists them.
"""

from __future__ import annotations

_NAMES = {
    b".env": "env-file", b".envrc": "env-file", b".netrc": "netrc", b"_netrc": "netrc", b".pgpass": "pgpass",
    b".git-credentials": "git-credentials", b".htpasswd": "htpasswd", b".my.cnf": "database-login",
    b"id_rsa": "ssh-key", b"id_dsa": "ssh-key", b"id_ecdsa": "ssh-key", b"id_ed25519": "ssh-key",
    b"terraform.tfstate": "terraform-state", b"wallet.dat": "wallet",
}
_ENDINGS = {b".p12": "key-store", b".pfx": "key-store", b".jks": "key-store", b".keystore": "key-store",
            b".kdbx": "password-store", b".tfstate": "terraform-state", b".ppk": "ssh-key"}
_HARMLESS_ENV = (b"example", b"sample", b"template", b"dist", b"defaults", b"schema", b"md",
                 b"py", b"js", b"ts")
# Names that make a secret likely, and the words of which the file must hold one.
_WITH_CONTENT = {
    b".pypirc": (b"password",), b".npmrc": (b"_authToken", b"_password", b"_auth="),
    b"credentials.json": (b"private_key", b"client_secret", b"refresh_token", b"access_token"),
    b"credentials": (b"aws_secret_access_key", b"password", b"token"),
    b"kubeconfig": (b"client-key-data", b"token:"), b"config.json": (b'"auths"',),
    b"secrets.yml": (b":",), b"secrets.yaml": (b":",), b"secrets.json": (b":",), b"secrets.toml": (b"=",),
}


def secret_by_name(path: bytes) -> str:
    """The kind of secret, if the file's name alone tells; empty for most names."""
    name = path.rsplit(b"/", 1)[-1].lower()
    if name in _NAMES:
        return _NAMES[name]
    if name.startswith(b".env.") and name.rsplit(b".", 1)[-1] not in _HARMLESS_ENV:
        return "env-file"
    return next((kind for ending, kind in _ENDINGS.items() if name.endswith(ending)), "")


def secret_by_name_and_content(path: bytes, data: bytes) -> str:
    name = path.rsplit(b"/", 1)[-1].lower()
    wanted = _WITH_CONTENT.get(name, ())
    return "credentials-file" if any(word in data for word in wanted) else ""


def name_that_matters(path: bytes) -> bytes:
    """The part of a path that matters when the content is searched for secrets; empty for most paths."""
    name = path.rsplit(b"/", 1)[-1].lower()
    return name if name in _WITH_CONTENT or is_lock_file(path) else b""


def is_lock_file(path: bytes) -> bool:
    """A lock file is full of hashes beside names, which look like secrets."""
    name = path.rsplit(b"/", 1)[-1].lower()
    return name.endswith((b".lock", b".sum", b"-lock.json", b"-lock.yaml", b"lockfile"))
