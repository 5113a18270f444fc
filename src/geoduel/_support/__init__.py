"""What every part needs: checks of arguments, progress, lazy names, files."""
