"""The load of services: queried, read, remembered, forecast."""
