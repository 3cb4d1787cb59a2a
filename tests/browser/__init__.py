"""Browser tests: a package, so that browser and web server live as long as its tests run."""
