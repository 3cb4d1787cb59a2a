"""What agents remember. It knows nothing of the other packages."""
