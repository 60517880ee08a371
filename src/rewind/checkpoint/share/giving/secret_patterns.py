"""Kinds of secrets with a form of their own: what each begins with, and what it looks like.

`docs/share.md` lists them. Every pattern takes linear time: it begins at a literal, and each repetition is
bounded. A literal in lower case that is not part of the secret itself, such as `password`, is searched for in
upper case as well.
"""

from __future__ import annotations

import re
from typing import NamedTuple

URL_PASSWORD, NPM = "url-password", "npm-token"
_BEFORE = rb"(?<![A-Za-z0-9])"
_AFTER = rb"(?![A-Za-z0-9])"


class SecretKind(NamedTuple):
    """Every text with such a secret holds one of the `literals`. The group `secret` is masked, otherwise the
    first group, or the whole match if the pattern has no groups."""

    name: str
    literals: tuple[bytes, ...]
    source: bytes

    @property
    def pattern(self) -> re.Pattern[bytes]:
        """Compiled at first use, and cached by `re`. Most patterns are never used."""
        return re.compile(self.source)

    @property
    def group(self) -> int:
        return self.pattern.groupindex.get("secret", min(1, self.pattern.groups))


def _kind(name: str, literals: str, pattern: bytes) -> SecretKind:
    return SecretKind(name, tuple(word.encode() for word in literals.split()), pattern)


def _token(name: str, literals: str, pattern: bytes) -> SecretKind:
    """A secret with no letter or digit directly before or after it."""
    return _kind(name, literals, _BEFORE + b"(?:" + pattern + b")" + _AFTER)


_VENDORS = [
    _token("aws-access-key", "AKIA ASIA ABIA ACCA", rb"A(?:KI|SI|BI|CC)A[A-Z2-7]{16}"),
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rb"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _token("github-token", "github_pat_", rb"github_pat_[A-Za-z0-9_]{22,255}"),
    _token("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glft- gloas- glsoat-",
           rb"gl(?:pat|dt|rt|cbt|ptt|ft|oas|soat)-[A-Za-z0-9_.-]{20,200}"),
    _token("slack-token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-",
           rb"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,250}"),
    _token("slack-webhook", "hooks.slack.com/",
           rb"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{20,100}"),
    _token("discord-webhook", "/api/webhooks/",
           rb"(?:discord|discordapp)\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,80}"),
    _token("stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_ whsec_",
           rb"[sr]k_(?:live|test)_[A-Za-z0-9]{16,200}|whsec_[A-Za-z0-9+/=]{32,80}"),
    _token("anthropic-key", "sk-ant-", rb"sk-ant-[A-Za-z0-9_-]{20,200}"),
    _token("openai-key", "sk-", rb"sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{40,200}|[A-Za-z0-9]{48}"
                                rb"|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20})"),
    _token("google-api-key", "AIza", rb"AIza[A-Za-z0-9_-]{35}"),
    _token("google-oauth-secret", "GOCSPX-", rb"GOCSPX-[A-Za-z0-9_-]{28}"),
    _token("google-oauth-token", "ya29.", rb"ya29\.[A-Za-z0-9_-]{20,500}"),
    _token("npm-token", "npm_", rb"npm_[A-Za-z0-9]{36}"),
    _token("pypi-token", "pypi-", rb"pypi-[A-Za-z0-9_-]{60,300}"),
    _token("rubygems-key", "rubygems_", rb"rubygems_[a-f0-9]{48}"),
    _token("docker-token", "dckr_pat_", rb"dckr_pat_[A-Za-z0-9_-]{27}"),
    _token("twilio-key", "SK", rb"SK[0-9a-f]{32}"),
    _token("sendgrid-key", "SG.", rb"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _token("mailgun-key", "key-", rb"key-[0-9a-f]{32}"),
    _token("mailchimp-key", "-us", rb"[0-9a-f]{32}-us[0-9]{1,2}"),
    _token("telegram-token", ":AA", rb"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    _token("digitalocean-token", "doo_v1_ dop_v1_ dor_v1_", rb"do[opr]_v1_[a-f0-9]{64}"),
    _token("huggingface-token", "hf_", rb"hf_[A-Za-z0-9]{30,40}"),
    _token("azure-storage-key", "AccountKey=", rb"AccountKey=([A-Za-z0-9+/]{80,88}={0,2})"),
    _token("azure-client-secret", "Q~", rb"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    _token("shopify-token", "shpat_ shpca_ shppa_ shpss_", rb"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _token("square-token", "sq0atp- sq0csp-", rb"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}"),
    _token("databricks-token", "dapi", rb"dapi[a-f0-9]{32}(?:-[0-9])?"),
    _token("linear-key", "lin_api_", rb"lin_api_[A-Za-z0-9]{40}"),
    _token("notion-token", "ntn_ secret_", rb"ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43}"),
    _token("atlassian-token", "ATATT3", rb"ATATT3[A-Za-z0-9_=-]{60,250}"),
    _token("vault-token", "hvs. hvb.", rb"hv[sb]\.[A-Za-z0-9_-]{24,200}"),
    _token("terraform-token", ".atlasv1.", rb"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,80}"),
    _token("grafana-token", "glsa_", rb"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _token("sentry-token", "sntrys_", rb"sntrys_[A-Za-z0-9+/=_-]{40,300}"),
    _token("newrelic-key", "NRAK-", rb"NRAK-[A-Z0-9]{27}"),
    _token("replicate-token", "r8_", rb"r8_[A-Za-z0-9]{37}"),
    _token("groq-key", "gsk_", rb"gsk_[A-Za-z0-9]{52}"),
    _token("xai-key", "xai-", rb"xai-[A-Za-z0-9]{80}"),
    _token("perplexity-key", "pplx-", rb"pplx-[A-Za-z0-9]{48}"),
    _token("age-key", "AGE-SECRET-KEY-1", rb"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _token("jwt", "eyJ", rb"eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}"),
]

_IN_CONTEXT = [
    # Between the lines of a key may be `\n`, as in JSON, or quotes, as in code. A key that is cut off counts.
    _kind("private-key", "PRIVATE", rb"-----BEGIN (?:[A-Z0-9]{1,10} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
          rb"(?=[A-Za-z0-9:=,.()\s\\\"'+-]{0,300}?[A-Za-z0-9+/]{40})"
          rb"(?:[^-]{0,20000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
          rb"|[A-Za-z0-9+/=:,.()\s\\\"'-]{40,20000})"),
    _kind("aws-secret-key", "aws_secret",
          rb"(?i)aws_secret(?:_access)?_key[\"']{0,2}\s{0,8}[=:]\s{0,8}[\"']?"
          rb"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"),
    _kind(NPM, "_authtoken _auth _password",
          rb"(?i)(?<![A-Za-z0-9])_(?:authToken|auth|password)\s{0,4}=\s{0,4}([^\s\"'$]{8,400})"),
    _kind("authorization", "authorization",
          rb"(?i)authorization[\"']?\s{0,4}[:=,]\s{0,4}[\"']?(?:basic|bearer|token)"
          rb"\s{1,4}([A-Za-z0-9+/=_.~-]{16,2000})"),
    _kind(URL_PASSWORD, "://", rb"://(?P<user>[^\s/:@\"'<>`\\?#]{1,100}):"
          rb"(?P<secret>[^\s/@\"'<>`{}\\$]{3,200})@"
          rb"(?P<host>[A-Za-z0-9\[][A-Za-z0-9._-]{0,100})"),
]
KINDS = _VENDORS + _IN_CONTEXT
