"""The commands: their options, one module each."""
