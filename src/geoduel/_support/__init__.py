"""What every part needs: checks of arguments, progress, pools, files, lazy names, old paths."""
