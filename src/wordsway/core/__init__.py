"""Small modules that every package uses: samples, results, errors, seeds, files, progress."""
