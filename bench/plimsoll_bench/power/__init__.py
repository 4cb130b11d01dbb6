"""A row of servers under a power budget: measured profiles, rival policies."""
