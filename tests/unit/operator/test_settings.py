import pytest

from plimsoll.settings import Settings


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"URL": "prometheus:9090"}, "must be a URL such as"),
        ({"URL": "http://user:secret@prometheus"}, "must not contain a user or password"),
        ({"USERNAME_FILE": "/user"}, "PLIMSOLL_PROMETHEUS_PASSWORD_FILE: Value error, must be"),
        ({"PASSWORD_FILE": "/password"}, "must be set together"),
        (
            {"TOKEN_FILE": "/t", "USERNAME_FILE": "/u", "PASSWORD_FILE": "/p"},
            "must not be set together with PLIMSOLL_PROMETHEUS_TOKEN_FILE",
        ),
        ({"CA_FILE": "/ca", "INSECURE": "true"}, "must not be set together with"),
        ({"SECONDS": "0"}, "PLIMSOLL_PROMETHEUS_SECONDS"),
    ],
)
def test_settings_that_contradict_each_other_are_named(given: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Settings.from_environment({f"PLIMSOLL_PROMETHEUS_{k}": v for k, v in given.items()})


def test_the_address_of_prometheus_may_have_a_path() -> None:
    given = {"PLIMSOLL_PROMETHEUS_URL": "https://mimir.example/prometheus/"}
    assert Settings.from_environment(given).prometheus_url == "https://mimir.example/prometheus"
