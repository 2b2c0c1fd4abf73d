"""Error replies of many servers, each sorted by what the person who asked can do."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.failure import FailureKind
from fermix.infrastructure.providers.openai.replies import refusal_from_reply, refusal_from_stream

OVERFLOWS: list[tuple[str, int, Any]] = [
    ("openai code", 400, {"error": {"code": "context_length_exceeded", "message": "too long"}}),
    (
        "openai chat, vllm",
        400,
        {
            "error": {
                "message": "This model's maximum context length is 8192 tokens. However, you requested 0 output "
                "tokens and your prompt contains at least 8193 input tokens"
            }
        },
    ),
    (
        "openai responses",
        400,
        {
            "error": {
                "message": "Your input exceeds the context window of this model.",
                "type": "invalid_request_error",
            }
        },
    ),
    (
        "vllm, old shape",
        400,
        {
            "object": "error",
            "message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        },
    ),
    (
        "llama.cpp",
        400,
        {
            "error": {
                "code": 400,
                "message": "request (931 tokens) exceeds the available context size (512 tokens)",
                "type": "exceed_context_size_error",
            }
        },
    ),
    (
        "llama.cpp, words alone",
        500,
        {
            "error": {
                "code": 500,
                "message": "the request exceeds the available context size. try increasing it",
            }
        },
    ),
    (
        "ollama",
        400,
        {"error": {"message": "the input length exceeds the context length", "type": "api_error"}},
    ),
    (
        "mistral",
        400,
        {
            "object": "error",
            "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
            "code": 3051,
        },
    ),
    (
        "openrouter",
        400,
        {
            "error": {
                "code": 400,
                "message": "This endpoint's maximum context length is 8192 tokens. However, you requested 9000",
            }
        },
    ),
    (
        "openrouter, quoting upstream",
        400,
        {
            "error": {
                "code": 400,
                "message": "Provider returned error",
                "metadata": {
                    "raw": '{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}'
                },
            }
        },
    ),
    (
        "xai",
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        },
    ),
    (
        "lm studio",
        400,
        {
            "error": "Trying to keep the first 4096 tokens when context the overflows. However, the model is "
            "loaded with context length of only 2048 tokens"
        },
    ),
    (
        "google",
        400,
        [
            {
                "error": {
                    "message": "The input token count (1200000) exceeds the maximum number of tokens allowed"
                }
            }
        ],
    ),
    ("groq", 400, {"error": {"message": "Please reduce the length of the messages or completion."}}),
    (
        "sglang",
        400,
        {"message": "The input (5000 tokens) is longer than the model's context length (4096 tokens)."},
    ),
    (
        "google, without the count",
        400,
        [
            {
                "error": {
                    "message": "The input token count exceeds the maximum number of tokens allowed 1048576."
                }
            }
        ],
    ),
    ("copilot", 400, {"error": {"message": "prompt token count of 12345 exceeds the limit of 8192"}}),
    (
        "moonshot",
        400,
        {
            "error": {
                "message": "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)"
            }
        },
    ),
    (
        "alibaba",
        400,
        {
            "error": {
                "message": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"
            }
        },
    ),
    (
        "cloudflare",
        400,
        {
            "error": {
                "message": "The estimated number of input and maximum output tokens (9000) exceeded this model "
                "context window limit (8192)."
            }
        },
    ),
    (
        "cohere",
        400,
        {
            "message": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4097."
        },
    ),
    ("text generation inference", 422, {"error": "`inputs` must have less than 4096 tokens. Given: 5000"}),
    ("litellm", 400, {"error": {"message": "litellm.ContextWindowExceededError: BadRequestError: x"}}),
    ("vllm, nothing left to answer with", 400, {"message": "max_tokens must be at least 1, got -52."}),
    ("a proxy", 413, "<html>413 Request Entity Too Large</html>"),
]
MODELS: list[tuple[str, int, Any]] = [
    ("openai", 404, {"error": {"message": "no access", "code": "model_not_found"}}),
    ("openai project", 403, {"error": {"message": "Project `p` does not have access to model `m`"}}),
    ("vllm", 404, {"object": "error", "message": "The model `m` does not exist.", "type": "NotFoundError"}),
    ("ollama", 404, {"error": {"message": 'model "m" not found, try pulling it first'}}),
    ("ollama native", 404, {"error": "model 'm' not found"}),
    (
        "llama.cpp router",
        400,
        {"error": {"code": 400, "message": "model not found", "type": "invalid_request_error"}},
    ),
    ("lm studio", 400, {"error": {"message": 'Invalid model identifier "m". Please specify a valid model'}}),
    (
        "mistral",
        400,
        {"object": "error", "message": "Invalid model: m", "type": "invalid_model", "code": "1500"},
    ),
    ("openrouter", 400, {"error": {"message": "m is not a valid model ID", "code": 400}}),
    ("openrouter gone", 404, {"error": {"message": "No endpoints found for m.", "code": 404}}),
    (
        "xai",
        404,
        {
            "code": "Some resource has not been found",
            "error": "The model m does not exist or your team has no access",
        },
    ),
    ("deepseek", 400, {"error": {"message": "Model Not Exist", "type": "invalid_request_error"}}),
]
OTHERS: list[tuple[str, int, Any, FailureKind]] = [
    (
        "openai",
        401,
        {"error": {"code": "invalid_api_key", "message": "Incorrect"}},
        FailureKind.CREDENTIAL_REFUSED,
    ),
    ("xai key", 400, {"error": "Incorrect API key provided: ab***"}, FailureKind.CREDENTIAL_REFUSED),
    (
        "google key",
        400,
        [{"error": {"message": "API key not valid. Please pass a valid API key."}}],
        FailureKind.CREDENTIAL_REFUSED,
    ),
    (
        "scope",
        403,
        {"error": {"message": "You have insufficient permissions"}},
        FailureKind.CREDENTIAL_REFUSED,
    ),
    ("bare 403", 403, "", FailureKind.CREDENTIAL_REFUSED),
    (
        "country",
        403,
        {"error": {"code": "unsupported_country_region_territory", "message": "Country not supported"}},
        FailureKind.PROVIDER_FAILED,
    ),
    ("firewall", 403, "<!DOCTYPE html><title>Forbidden token</title>", FailureKind.PROVIDER_FAILED),
    ("no credits", 403, {"error": "Your team doesn't have any credits yet"}, FailureKind.PROVIDER_FAILED),
    (
        "quota",
        429,
        {"error": {"code": "insufficient_quota", "message": "You exceeded it"}},
        FailureKind.RATE_LIMITED,
    ),
    (
        "size per minute",
        429,
        {"error": {"message": "Request too large. Please reduce the length of the messages"}},
        FailureKind.RATE_LIMITED,
    ),
    ("bare 429", 429, "", FailureKind.RATE_LIMITED),
    ("gateway", 504, "<html>", FailureKind.TIMED_OUT),
    (
        "overloaded",
        503,
        {"error": {"message": "Loading model", "type": "unavailable_error"}},
        FailureKind.PROVIDER_FAILED,
    ),
    ("wrong address", 404, "404 page not found", FailureKind.PROVIDER_FAILED),
    ("fastapi", 404, {"detail": "Not Found"}, FailureKind.PROVIDER_FAILED),
    (
        "tools",
        404,
        {"error": {"message": "No endpoints found that support tool use."}},
        FailureKind.PROVIDER_FAILED,
    ),
    (
        "validation",
        422,
        {"detail": [{"loc": ["body"], "msg": "Field required"}]},
        FailureKind.PROVIDER_FAILED,
    ),
    ("bad request", 400, {"error": {"message": "max_tokens is too small"}}, FailureKind.PROVIDER_FAILED),
    ("redirect", 308, "", FailureKind.PROVIDER_FAILED),
]


def kind(status: int, body: Any) -> FailureKind:
    text = body if isinstance(body, str) else json.dumps(body)
    return refusal_from_reply(status, {}, text).kind


@pytest.mark.parametrize(
    ("status", "body"), [case[1:] for case in OVERFLOWS], ids=[case[0] for case in OVERFLOWS]
)
def test_a_context_that_is_too_long_is_recognised_in_every_wording(status: int, body: Any) -> None:
    assert kind(status, body) is FailureKind.CONTEXT_TOO_LONG


@pytest.mark.parametrize(("status", "body"), [case[1:] for case in MODELS], ids=[case[0] for case in MODELS])
def test_an_unknown_model_is_recognised_in_every_wording(status: int, body: Any) -> None:
    assert kind(status, body) is FailureKind.UNKNOWN_MODEL


@pytest.mark.parametrize(
    ("status", "body", "expected"), [case[1:] for case in OTHERS], ids=[case[0] for case in OTHERS]
)
def test_other_refusals_are_sorted_by_their_remedy(status: int, body: Any, expected: FailureKind) -> None:
    assert kind(status, body) is expected


def test_a_complaint_about_a_field_names_it() -> None:
    body = {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}, 3]}

    assert refusal_from_reply(422, {}, json.dumps(body)).detail == (
        "HTTP 422: body.stream_options: Extra inputs are not permitted"
    )


def test_a_used_up_quota_is_named() -> None:
    body = {"error": {"code": "insufficient_quota", "message": "Check your plan"}}

    assert refusal_from_reply(429, {}, json.dumps(body)).detail == (
        "HTTP 429: the account's quota is used up: Check your plan"
    )


def test_the_words_of_a_refused_key_are_not_passed_on() -> None:
    body = {"error": {"message": "Incorrect API key provided: sk-12***89"}}

    assert refusal_from_reply(401, {}, json.dumps(body)).detail == "HTTP 401"


def test_a_rate_limit_inside_a_stream_keeps_the_wait_it_names() -> None:
    refusal = refusal_from_stream({"error": {"code": 429, "message": "Please try again in 1m2.5s."}})

    assert (refusal.kind, refusal.retry_after) == (FailureKind.RATE_LIMITED, timedelta(seconds=62.5))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "message", "code", "detail", "metadata", "raw", "headers", "details", "msg", "loc"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON, st.integers(300, 599))
def test_no_error_body_whatsoever_breaks_the_reading(body: Any, status: int) -> None:
    refusal_from_reply(status, {}, json.dumps(body))
    refusal_from_stream(body)
