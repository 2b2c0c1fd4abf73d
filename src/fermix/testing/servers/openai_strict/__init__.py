"""A strict OpenAI-like server for tests: it refuses whatever the documented wires do not name."""
