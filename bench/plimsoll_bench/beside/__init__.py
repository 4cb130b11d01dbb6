"""The same jobs and gangs through Plimsoll and through Kueue."""
