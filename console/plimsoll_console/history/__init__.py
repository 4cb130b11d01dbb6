"""What has changed in the last hours, in memory."""
