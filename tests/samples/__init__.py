"""What several test files make."""
