"""The shared vocabulary: reasons, metrics and logs."""
