"""The tables: narrow rows by the hour and by the day, and what their numbers stand for.

Rows by the hour name a job; rows by the day only whose it is, which makes them so few that a year
is read in a second. Both are written by the same transactions.

No foreign keys: only the ledger writes, and PostgreSQL would look through all rows for each job
that is deleted. `last_day` of a job is the latest one with rows of it.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData()

OWNERS = Table(
    "owners",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("queue", Text, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("user", Text, nullable=False),
    UniqueConstraint("queue", "namespace", "user"),
)

JOBS = Table(
    "jobs",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("uid", Text, nullable=False),
    Column("owner", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("last_day", Integer, nullable=False),
    UniqueConstraint("uid", "owner"),
)

PLACES = Table(
    "places",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("gpu_type", Text, nullable=False),
    Column("pool", Text, nullable=False),
    Column("option", Text, nullable=False),
    Column("share_milli", Integer, nullable=False),
    Column("microdollars", BigInteger, nullable=False),
    UniqueConstraint("gpu_type", "pool", "option", "share_milli", "microdollars"),
)

HOURS = Table(
    "hours",
    METADATA,
    Column("hour", Integer, primary_key=True, autoincrement=False),
    Column("job", Integer, primary_key=True, autoincrement=False),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("use", SmallInteger, primary_key=True, autoincrement=False),
    Column("milli_ms", BigInteger, nullable=False),
    Column("millijoules", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

DAYS = Table(
    "days",
    METADATA,
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("owner", Integer, primary_key=True, autoincrement=False),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("use", SmallInteger, primary_key=True, autoincrement=False),
    Column("milli_ms", BigInteger, nullable=False),
    Column("millijoules", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

LOSSES = Table(
    "losses",
    METADATA,
    Column("job", Integer, primary_key=True, autoincrement=False),
    Column("at_ms", BigInteger, primary_key=True, autoincrement=False),
    Index("losses_at", "at_ms"),
    sqlite_with_rowid=False,
)

STANDING = Table(
    "standing",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("accounted_until_ms", BigInteger, nullable=False),
    Column("observation", LargeBinary, nullable=False),
)
"""One row: until when all is accounted for, and what was seen then."""

TOLD = Table(
    "notifications_told",
    METADATA,
    Column("uid", String(64), primary_key=True),
    Column("kind", String(16), primary_key=True),
    Column("at", BigInteger, nullable=False),
)
"""Since when it was so what was last told of an object, in seconds since 1970."""

WAITING = Table(
    "notifications_waiting",
    METADATA,
    Column("id", String(128), primary_key=True),
    Column("noticed", BigInteger, nullable=False),
    Column("due", BigInteger, nullable=False, index=True),
    Column("attempts", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("error", Text, nullable=False),
)
"""Notifications that nobody has taken yet; times are in seconds since 1970."""
