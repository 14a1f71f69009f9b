"""Documents made by hand, and the output that each writer must make of them."""
