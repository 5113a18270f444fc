"""Version of the package, read by the build and by `geoduel --version`."""

__version__ = "0.11.0"
