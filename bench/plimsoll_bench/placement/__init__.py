"""Problems drawn from seeds, and their best placements, found without the solver."""
