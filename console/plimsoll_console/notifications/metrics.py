"""The metrics of notifications, on the console's `/metrics`."""

from prometheus_client import Counter, Gauge

NOTIFICATIONS = Counter(
    "plimsoll_console_notifications",
    "Attempts to deliver notifications, by result (Delivered, Failed, GivenUp or Dropped)",
    ["result"],
)
NOTIFICATIONS_WAITING = Gauge(
    "plimsoll_console_notifications_waiting", "Notifications that have yet to be delivered"
)
