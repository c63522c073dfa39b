"""The text of a reply before it is read: its characters, its own voice, whether it declines."""
