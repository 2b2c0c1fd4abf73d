"""A fake signal-cli: a program that the adapter starts, led over a socket by the test that plays Signal."""
