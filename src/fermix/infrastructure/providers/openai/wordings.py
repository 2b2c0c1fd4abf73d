"""How providers word the refusals that need a remedy of their own; codes are compared, words searched."""

import re

CONTEXT_CODES = frozenset(
    {
        "context_length_exceeded",  # OpenAI, Groq, OpenRouter
        "context_window_exceeded",
        "exceed_context_size_error",  # llama.cpp
        "model_context_window_exceeded",  # z.ai, as the reason why an answer ended
        "model_max_prompt_tokens_exceeded",
        "string_above_max_length",
    }
)
CONTEXT_WORDS = re.compile(
    r"""(?xi)
    maximum\ context\ length                                     # OpenAI chat, vLLM, OpenRouter, DeepSeek
    | maximum\ model\ length                                     # vLLM
    | exceed\w*\ (?:the\ |this\ model(?:'s)?\ )?(?:available\ |model's\ |maximum\ )?context  # llama.cpp, OpenAI
    | maximum\ prompt\ length                                    # xAI
    | too\ large\ for\ model\ with\ \d+\ maximum                 # Mistral
    | prompt\ is\ too\ long | input\ is\ too\ long               # Anthropic, Bedrock behind a gateway
    | prompt\ too\ long                                          # Ollama
    | (?:input|prompt)\ token\ count\b.{0,30}?\ exceeds          # Google, Copilot
    | longer\ than\ the\ model's\ context                        # SGLang
    | (?:greater|larger|longer)\ than\ the\ (?:maximum\ )?context\ (?:length|size|window)   # LM Studio, llama.cpp
    | context\ the\ overflows | context\ overflow                # LM Studio
    | loaded\ with\ context\ length\ of                          # LM Studio
    | context\ (?:window|length|size)\ (?:of\ \d+\ )?(?:was\ |is\ |limit\ )?(?:exceeded|exceeds)
    | context\ window\ exceeds | exceeds\ (?:the\ )?context\ limit
    | reduce\ the\ length\ of\ the\ (?:messages|prompt|input)    # Groq, Cerebras
    | exceeded\ model\ token\ limit                             # Moonshot
    | range\ of\ input\ length\ should\ be                       # Alibaba
    | tokens\ in\ the\ prompt\ cannot\ exceed                   # Cohere
    | ContextWindowExceeded                                     # LiteLLM
    | max_tokens\ must\ be\ at\ least\ 1,\ got\ -               # vLLM, when nothing is left to answer with
    | \binputs?`?\ tokens\ \+\ `?max_new_tokens                  # Text Generation Inference, Together
    | \binputs`?\ must\ have\ less\ than\ \d+\ tokens
    """
)

QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
RATE_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests"})
TIME_OUT_CODES = frozenset({"timeout", "request_timeout", "upstream_timeout"})

MODEL_CODES = frozenset({"model_not_found", "invalid_model", "model_not_available"})
MODEL_WORDS = re.compile(
    r"""(?xi)
    \bmodel\b.{0,80}?\b(?:not\ exist\b|not\ found|is\ not\ available\b)   # OpenAI, vLLM, Ollama, DeepSeek
    | not\ a\ valid\ model | invalid\ model\b                    # OpenRouter, Mistral, LM Studio
    | no\ endpoints\ found\ for\b                                # OpenRouter
    | does\ not\ have\ access\ to\ model                         # OpenAI projects
    | \bunknown\ model\b
    """
)

KEY_CODES = frozenset({"invalid_api_key", "authentication_error", "invalid_authentication", "unauthorized"})
KEY_WORDS = re.compile(
    r"(?i)(?:incorrect|invalid|missing|expired|revoked|no)\s+(?:an?\s+)?(?:api[ _-]?key|token|credentials?)"
    r"|api[ _-]?key\s+(?:is\s+)?(?:not\s+valid|invalid|missing|expired)"
)
FORBIDDEN_WORDS = re.compile(
    r"(?i)api[ _-]?key|\btoken\b|credential|authenti|authori[sz]|permission|scope|forbidden"
)
"""In a 403: what speaks of the key rather than of a country, a filter or the account's balance."""

VISION_WORDS = re.compile(
    r"""(?xi)
    \b(?:not|n't)\ (?:support|accept|allow)\w*\ (?:image|vision|multi-?modal)   # Ollama, LM Studio, many gateways
    | endpoints\ found\ that\ support\ image                  # OpenRouter
    | image\ inputs?\ (?:is|are)\ (?:not|disabled)             # llama.cpp, Mistral
    | image_url\ is\ only\ supported\ by                       # OpenAI
    | unknown\ variant\ [`'"]?image_url                        # DeepSeek
    | content(?:['"`]?\ ?:)?\ (?:value\ )?must\ be\ a\ string   # Groq
    | unsupported\ content\ (?:part\ )?type.{0,20}image         # llama.cpp's templates
    | not\ a\ multi-?modal\ model                              # vLLM
    | at\ most\ 0\ images?                                     # vLLM
    | required\ for\ image\ input                              # Ollama
    """
)
"""That a model sees no pictures, said of a request that brought some."""
