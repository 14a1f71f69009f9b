"""The parts of a stand-alone script: literals, how the saver is made, calls, and the final check."""
