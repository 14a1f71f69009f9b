"""The strict saver keeps every promise, on both faces and on every supported release."""
