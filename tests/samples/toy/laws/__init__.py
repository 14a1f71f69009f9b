"""The laws of this room, a module a group."""
