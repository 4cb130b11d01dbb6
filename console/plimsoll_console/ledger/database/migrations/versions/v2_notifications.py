"""What was told to receivers of notifications, and what has yet to be."""

import sqlalchemy as sa
from alembic import op

revision = "v2_notifications"
down_revision = "v1_rows"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "notifications_told",
        sa.Column("uid", sa.String(64), primary_key=True),
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "notifications_waiting",
        sa.Column("id", sa.String(128), primary_key=True),
        sa.Column("noticed", sa.BigInteger, nullable=False),
        sa.Column("due", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
    )
    op.create_index("ix_notifications_waiting_due", "notifications_waiting", ["due"])
