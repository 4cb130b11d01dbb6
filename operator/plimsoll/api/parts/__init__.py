"""Parts of the custom resources that several fields or kinds share."""
