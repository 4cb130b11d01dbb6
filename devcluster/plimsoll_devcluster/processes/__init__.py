"""Programs as children of this process, which leave nothing behind."""
