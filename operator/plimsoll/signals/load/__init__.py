"""The load of services: asked for, read, remembered, forecast."""
