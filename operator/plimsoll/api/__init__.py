"""The custom resources: what a user may write, what Plimsoll answers, and their CRDs."""
