"""Who asks, and what they may see: by the API server's own reviews, and never by what we think."""
