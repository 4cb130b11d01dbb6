import base64
import json
from typing import Any

import pytest

from plimsoll.kube.tokens.claims import CLOCKS_DIFFER_SECONDS, Claims, PodIdentity, claims_of

NOW = 1_800_000_000.0
POD = {"name": "train-worker-0", "uid": "uid-0"}
GOOD: dict[str, Any] = {
    "aud": ["plimsoll.dev"],
    "exp": NOW + 600,
    "iss": "https://kubernetes.default.svc",
    "sub": "system:serviceaccount:team:default",
    "kubernetes.io": {"namespace": "team", "pod": POD, "node": {"name": "n"}},
}


def packed(part: object) -> str:
    body = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(body).decode().rstrip("=")


def a_token(payload: object = GOOD, header: object = {"alg": "RS256", "kid": "x"}) -> str:
    return f"{packed(header)}.{packed(payload)}.c2lnbmF0dXJl"


def test_a_token_says_itself_whose_it_is_and_when_it_ends() -> None:
    expected = Claims(PodIdentity("team", "train-worker-0", "uid-0"), NOW + 600)
    assert claims_of(a_token(), NOW) == expected
    assert claims_of(a_token({**GOOD, "aud": "plimsoll.dev"}), NOW) == expected
    assert claims_of(a_token({**GOOD, "aud": ["vault", "plimsoll.dev"]}), NOW) == expected


@pytest.mark.parametrize("issuer", ["https://oidc.eks.amazonaws.com/id/X", "", None])
def test_who_issued_it_is_left_to_the_api_server(issuer: str | None) -> None:
    assert claims_of(a_token({**GOOD, "iss": issuer}), NOW) is not None


def test_a_token_is_over_only_when_it_is_by_any_clock() -> None:
    late = NOW + 600 + CLOCKS_DIFFER_SECONDS
    assert claims_of(a_token(), late) is not None
    assert claims_of(a_token(), late + 1) is None


JUNK: dict[str, str] = {
    "nothing": "",
    "a word": "junk",
    "two parts": "a.b",
    "four parts": f"{a_token()}.d",
    "no signature": a_token().rpartition(".")[0] + ".",
    "no base64": "!.!.!",
    "no JSON": f"{packed(b'x')}.{packed(b'x')}.x",
    "no header": a_token(header=[]),
    "another alphabet": a_token() + "ж",
    "without end": "x" * 1_000_000,
    "nested without end": a_token(b'{"a":' * 1000 + b"1" + b"}" * 1000),
    "an endless number": a_token(json.dumps(GOOD).replace("1800000600.0", "9" * 4500).encode()),
    "no text of this world": a_token(b'{"aud": "\xff"}'),
    "a list": a_token([]),
    "for another": a_token({**GOOD, "aud": ["https://kubernetes.default.svc"]}),
    "for nobody": a_token({**GOOD, "aud": []}),
    "for a number": a_token({**GOOD, "aud": 7}),
    "never over": a_token({key: value for key, value in GOOD.items() if key != "exp"}),
    "over": a_token({**GOOD, "exp": NOW - 3600}),
    "over at no time": a_token({**GOOD, "exp": "tomorrow"}),
    "of a user": a_token({**GOOD, "sub": "somebody"}),
    "of another namespace": a_token({**GOOD, "sub": "system:serviceaccount:other:default"}),
    "bound to nothing": a_token({**GOOD, "kubernetes.io": {"namespace": "team"}}),
    "bound to a number": a_token({**GOOD, "kubernetes.io": 7}),
    "bound by name only": a_token(
        {**GOOD, "kubernetes.io": {"namespace": "team", "pod": {"name": "train-worker-0"}}}
    ),
}


@pytest.mark.parametrize("token", JUNK.values(), ids=JUNK.keys())
def test_what_does_not_even_claim_to_be_good_is_known_as_junk(token: str) -> None:
    assert claims_of(token, NOW) is None
