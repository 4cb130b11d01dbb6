"""From a snapshot to a plan. Nothing here asks or tells anybody anything."""
