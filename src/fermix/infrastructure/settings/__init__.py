"""Settings: `config.toml` and the environment, read once, checked whole, handed out as frozen values.

The names live in their modules, so that the command-line client can find a home (`home`) without loading pydantic.
"""
