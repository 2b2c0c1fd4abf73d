"""A fake Discord for tests: REST and gateway on one port, documented limits, Discord's own error codes."""
