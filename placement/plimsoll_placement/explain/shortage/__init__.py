"""What a waiting job lacks, in numbers and in sentences."""
