"""Arrays, matrices and series, for NumPy and other array packages."""
