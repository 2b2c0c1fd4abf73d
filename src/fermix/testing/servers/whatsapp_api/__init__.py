"""A fake WhatsApp Cloud API for tests: documented limits, media in two steps, Meta's own error codes."""
