"""Where the pods of one gang or replica go."""
