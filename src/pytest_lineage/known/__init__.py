"""Known failures: the file that lists them, the programs that they keep on disk, and the ratchet that replays these."""
