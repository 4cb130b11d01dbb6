"""What a ledger's database holds, for tests."""

from sqlalchemy import Engine, text

from plimsoll_console.ledger.accounting.tally import Use


def by_use_in(engine: Engine, table: str = "hours") -> dict[Use, int]:
    """Milli-GPU-milliseconds by what they went into, where there are any."""
    with engine.begin() as connection:
        rows = connection.execute(
            text(f"SELECT use, sum(milli_ms) FROM {table} GROUP BY use")  # noqa: S608 - ours
        ).all()
    return {Use(use): int(amount) for use, amount in rows if amount}


def count_in(engine: Engine, table: str) -> int:
    with engine.begin() as connection:
        return connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()  # noqa: S608 - ours
