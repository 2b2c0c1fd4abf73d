"""From a message in a Telegram chat to its reply: Fermix, the least such a program can be, and the usual way."""
