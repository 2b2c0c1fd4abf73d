"""Model providers that speak OpenAI's two wires, through the `openai` SDK (loaded with the first request)."""
