"""What a tenant who means harm does to a cluster that it shares."""
