"""The usual way: python-telegram-bot and the openai SDK as they come, nothing stored.

`usual.py API_ROOT MODEL_ROOT`.
"""

import asyncio
import sys
from collections import defaultdict

from openai import AsyncOpenAI
from telegram import Bot, Update
from telegram.request import HTTPXRequest


async def main(api: str, model: str) -> None:
    """Poll for ever; one lock for each chat keeps its replies in order."""
    root, _, token = api.rpartition("bot")
    ask = AsyncOpenAI(api_key="none", base_url=model, max_retries=0)
    locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
    workers: set[asyncio.Task[None]] = set()

    async def serve(bot: Bot, update: Update) -> None:
        assert update.message is not None
        async with locks[update.message.chat.id]:
            answer = await ask.chat.completions.create(
                model="quick-1", messages=[{"role": "user", "content": update.message.text or ""}]
            )
            await bot.send_message(update.message.chat.id, answer.choices[0].message.content or "")

    async with Bot(token, base_url=f"{root}bot", request=HTTPXRequest(connection_pool_size=64)) as bot:
        offset = 0
        while True:
            for update in await bot.get_updates(offset=offset, timeout=25, read_timeout=30):
                offset = update.update_id + 1
                worker = asyncio.create_task(serve(bot, update))
                workers.add(worker)
                worker.add_done_callback(workers.discard)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
