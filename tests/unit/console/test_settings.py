import pytest

from plimsoll_console.notifications.occurrences import Kind
from plimsoll_console.settings import Settings


def test_settings_are_read_from_the_environment() -> None:
    found = Settings.from_environment({"PLIMSOLL_CONSOLE_PORT": "1", "PLIMSOLL_PORT": "2"})
    assert found.port == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PLIMSOLL_CONSOLE_PORT", "many"),
        ("PLIMSOLL_CONSOLE_RIGHTS_SECONDS", "3600"),
        ("PLIMSOLL_CONSOLE_LEDGER_WRITE_SECONDS", "90"),
        ("PLIMSOLL_CONSOLE_TLS_KEY_FILE", "/tls/tls.key"),
        ("PLIMSOLL_CONSOLE_NOTIFICATIONS_URL", "hooks.example.com"),
        ("PLIMSOLL_CONSOLE_NOTIFICATIONS_URL", "https://hooks.example.com"),
        ("PLIMSOLL_CONSOLE_NOTIFICATIONS_TYPES", "started,begun"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=name):
        Settings.from_environment({name: value})


def test_only_the_chosen_events_are_posted() -> None:
    found = Settings.from_environment({"PLIMSOLL_CONSOLE_NOTIFICATIONS_TYPES": "started, failed"})
    assert found.notification_kinds == {Kind.STARTED, Kind.FAILED}
    assert Settings().notification_kinds == set(Kind)
