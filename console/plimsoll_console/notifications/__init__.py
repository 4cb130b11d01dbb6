"""Tell people what they wait for: a job has started, ended, lost its place, or cannot run.

Each is a CloudEvent, posted to a URL. What has been told is kept in the database, so that a restart
tells nothing twice and forgets nothing.
"""
