"""Known faults, shown: stories with pins, run side by side in environments with and without the fault."""
