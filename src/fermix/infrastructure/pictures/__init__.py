"""Pictures made fit for models: decoded by Pillow, in a process of its own for each of them."""
