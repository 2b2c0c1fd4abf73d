"""A fake Slack for tests: Web API, files and Socket Mode, documented limits, Slack's own error codes."""
