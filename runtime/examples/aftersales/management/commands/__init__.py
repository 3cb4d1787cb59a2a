"""Commands of the after-sales demo."""
