"""The questions of `fermix setup`, step by step. Nothing is written here; the answers are what comes out."""

from collections.abc import Mapping
from dataclasses import dataclass

from fermix.entrypoints.cli.setup.answers import Answers, ChannelAnswer, ProviderAnswer, TranscriptionAnswer
from fermix.entrypoints.cli.setup.channel_questions import ask_channel, is_begun, offered
from fermix.entrypoints.cli.setup.flags import NOBODY, takes
from fermix.entrypoints.cli.setup.present import PROVIDERS, TRANSCRIPTION, Present
from fermix.entrypoints.cli.setup.providers import (
    KEY_PAGES,
    OFFERED,
    SERVER,
    check_name,
    check_spelling,
    facts,
    model_of,
    needs_key,
)
from fermix.entrypoints.cli.setup.questions import Questions
from fermix.entrypoints.cli.setup.values import SECTIONS, Unfit, cleaned, fitting
from fermix.infrastructure.settings.known_providers import KNOWN_NAMES, LOCAL

_THAT_IS_ALL = "no more"
_BACKENDS: Mapping[str, str] = {
    "openai": "with OpenAI's key",
    "xai": "with xAI's key; a subscription does not cover it",
    "deepgram": "needs a key of its own, from console.deepgram.com",
    LOCAL: "on this machine, English only; needs the extra stt",
    NOBODY: "no one is named: openai where its key is set, else local where it is installed",
}
_USUAL_MODELS = {"openai": "gpt-4o-mini-transcribe", "deepgram": "nova-3"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wizard:
    """Asks everything once.

    Attributes:
        present: what stands there.
        answering: the provider that would answer now.
        again: ask about what is set already too; otherwise Enter keeps such a step whole.
    """

    questions: Questions
    present: Present
    answering: str
    again: bool

    def run(self) -> Answers:
        """Ask.

        Raises:
            KeyboardInterrupt, EOFError: the person has left.
        """
        self.questions.say("\n1. Which model answers")
        provider = self._provider()
        self.questions.say("\n2. Messengers")
        channels = self._channels()
        self.questions.say("\n3. Who turns voice notes into text")
        transcription = self._transcription(provider)
        return Answers(
            providers=() if provider is None else (provider,), channels=channels, transcription=transcription
        )

    def _provider(self) -> ProviderAnswer | None:
        own = [name for name in self.present.providers if name not in OFFERED]
        options = {**dict.fromkeys(own, "set up; kept as it is"), **OFFERED}
        while True:
            picked = self.questions.choose("Provider", options, now=self.answering)
            name = picked or self.answering
            if picked is None and (not self.again or name not in self.present.providers):
                return None
            if name == LOCAL:
                return None if name == self.answering else ProviderAnswer(name=name, chosen=True)
            try:
                if name != SERVER:
                    check_name(name, has_address=self.present.has((*PROVIDERS, name, "base_url")))
            except Unfit as exc:
                self.questions.say(f"  {exc}")
                continue
            answer = self._details(name)
            return answer if self._is_first() or name == self.answering else self._perhaps_chosen(answer)

    def _is_first(self) -> bool:
        return not self.present.providers and self.present.primary is None

    def _perhaps_chosen(self, answer: ProviderAnswer) -> ProviderAnswer:
        instead = self.questions.agrees(
            f"Let {answer.name} answer from now on, in place of {self.answering}", usual=False
        )
        return ProviderAnswer(
            name=answer.name,
            api_key=answer.api_key,
            base_url=answer.base_url,
            default_model=answer.default_model,
            chosen=instead,
        )

    def _details(self, name: str) -> ProviderAnswer:
        base_url = None
        if name in {SERVER, "ollama"} or self.present.text((*PROVIDERS, name, "base_url")):
            base_url = self._address(name)
        if name == SERVER:
            name = self._name()
        has_address = base_url is not None or self.present.has((*PROVIDERS, name, "base_url"))
        return ProviderAnswer(
            name=name,
            base_url=base_url,
            api_key=None if facts(name).keyless else self._key(name, has_address=has_address),
            default_model=self._model(name, has_address=has_address),
        )

    def _address(self, name: str) -> str | None:
        path = (*PROVIDERS, name, "base_url")
        now = None if name == SERVER else self.present.text(path) or facts(name).base_url
        return self.questions.value(
            "Address, up to its version (such as http://localhost:8000/v1)",
            lambda text: fitting(path, text),
            now=now,
        )

    def _name(self) -> str:
        def check(text: str) -> str:
            name = cleaned(text)
            check_spelling(name)
            return name

        while True:
            name = self.questions.value("What to call it", check, optional="my-server") or "my-server"
            if name not in KNOWN_NAMES:
                return name
            self.questions.say(f"  {name} is the name of a service; take another one")

    def _key(self, name: str, *, has_address: bool) -> str | None:
        path = (*PROVIDERS, name, "api_key")
        if name in KEY_PAGES:
            self.questions.say(f"  {KEY_PAGES[name]}")
        return self.questions.secret(
            f"Key of {name}",
            lambda text: fitting(path, text),
            is_set=self.present.has(path),
            optional=None if needs_key(name, has_address=has_address) else "none",
        )

    def _model(self, name: str, *, has_address: bool) -> str | None:
        path = (*PROVIDERS, name, "default_model")
        return self.questions.value(
            "Model",
            lambda text: fitting(path, text),
            now=model_of(name, self.present, has_address=has_address),
        )

    def _channels(self) -> tuple[ChannelAnswer, ...]:
        answers: dict[str, ChannelAnswer] = {}
        if self.again:
            for name in SECTIONS:
                if is_begun(name, self.present):
                    self.questions.say(f"\n{name.capitalize()}")
                    answers[name] = ask_channel(name, self.questions, self.present)
        while True:
            options = {**offered(self.present), **dict.fromkeys(answers, "answered")}
            picked = self.questions.choose("Messenger to set up", options, now=_THAT_IS_ALL)
            if picked is None:
                return tuple(answer for answer in answers.values() if answer.values)
            answers[picked] = ask_channel(picked, self.questions, self.present)

    def _transcription(self, provider: ProviderAnswer | None) -> TranscriptionAnswer | None:
        before = self.present.text((*TRANSCRIPTION, "backend"))
        options = dict(_BACKENDS)
        if before is not None and before not in options:
            options = {before: "set up; kept as it is", **options}
        picked = self.questions.choose("Transcription", options, now=before or NOBODY)
        if picked is None and (before is None or not self.again):
            return None
        backend = picked or before
        if backend is None or backend == NOBODY:
            return None if before is None else TranscriptionAnswer(backend=None)
        return TranscriptionAnswer(
            backend=backend,
            api_key=self._speech_key(backend, provider) if takes(backend, "api_key") else None,
            model=self._speech_model(backend, same=backend == before) if takes(backend, "model") else None,
        )

    def _speech_key(self, backend: str, provider: ProviderAnswer | None) -> str | None:
        path = (*TRANSCRIPTION, f"{backend}_api_key")
        told = provider is not None and provider.name == backend and provider.api_key is not None
        shared = told or self.present.has((*PROVIDERS, backend, "api_key"))
        return self.questions.secret(
            f"Key of {backend}",
            lambda text: fitting(path, text),
            is_set=self.present.has(path),
            optional=f"the one that answers with {backend}" if shared and backend != "deepgram" else None,
        )

    def _speech_model(self, backend: str, *, same: bool) -> str | None:
        path = (*TRANSCRIPTION, "model")
        now = (self.present.text(path) if same else None) or _USUAL_MODELS.get(backend)
        return self.questions.value(
            "Model of the transcription", lambda text: fitting(path, text), now=now, optional="its usual one"
        )
