"""The pods of a job: their manifests, and what they take of their nodes."""
