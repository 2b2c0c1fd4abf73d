"""A channel for Fermix over Parley, a small chat platform that speaks in lines of JSON."""
