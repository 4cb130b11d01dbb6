"""What Alembic runs migrations with: the connection that it is given."""

from alembic import context

from plimsoll_console.ledger.database.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
