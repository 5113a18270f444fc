"""What every part needs: checks of arguments, progress, files, lazy names, old module paths."""
