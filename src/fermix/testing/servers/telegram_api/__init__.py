"""A fake Telegram Bot API server for tests: real polling, documented limits, Telegram's own error texts."""
