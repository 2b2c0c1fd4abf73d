"""The control socket: its protocol, the server of a home's owner, and a client that loads at once."""
