"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "v1_rows"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    _make_names()
    _make_rows()


def _make_names() -> None:
    """What numbers in rows stand for."""
    op.create_table(
        "owners",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("queue", sa.Text, nullable=False),
        sa.Column("namespace", sa.Text, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.UniqueConstraint("queue", "namespace", "user"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("uid", sa.Text, nullable=False),
        sa.Column("owner", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("last_day", sa.Integer, nullable=False),
        sa.UniqueConstraint("uid", "owner"),
    )
    op.create_table(
        "places",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("gpu_type", sa.Text, nullable=False),
        sa.Column("pool", sa.Text, nullable=False),
        sa.Column("option", sa.Text, nullable=False),
        sa.Column("share_milli", sa.Integer, nullable=False),
        sa.Column("microdollars", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("gpu_type", "pool", "option", "share_milli", "microdollars"),
    )


def _make_rows() -> None:
    _make_amounts("hours", "hour", "job")
    _make_amounts("days", "day", "owner")
    op.create_table(
        "losses",
        _number("job"),
        sa.Column("at_ms", sa.BigInteger, primary_key=True, autoincrement=False),
        sqlite_with_rowid=False,
    )
    op.create_index("losses_at", "losses", ["at_ms"])
    op.create_table(
        "standing",
        _number("id"),
        sa.Column("accounted_until_ms", sa.BigInteger, nullable=False),
        sa.Column("observation", sa.LargeBinary, nullable=False),
    )


def _make_amounts(name: str, time: str, whose: str) -> None:
    op.create_table(
        name,
        _number(time),
        _number(whose),
        _number("place"),
        sa.Column("use", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("milli_ms", sa.BigInteger, nullable=False),
        sa.Column("millijoules", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, primary_key=True, autoincrement=False)
