"""The paper's experiments, one a file."""
