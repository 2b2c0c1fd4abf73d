"""HTTP/1.1 for the clients we use: few connections, kept open, and errors that say whether a request left."""
