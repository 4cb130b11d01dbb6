"""What each view shows: from a snapshot and a user's rights to messages in JSON."""
