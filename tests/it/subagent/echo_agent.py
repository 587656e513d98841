"""An agent by the protocol's Python library: it repeats what it is told."""

import asyncio
from typing import Any

from acp import (
    Agent,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    run_agent,
    text_block,
    update_agent_message,
)


class Echo(Agent):
    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, **_: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id="s")

    async def prompt(self, prompt: list, session_id: str, **_: Any) -> PromptResponse:
        for block in prompt:
            message = update_agent_message(text_block(block.text))
            await self.client.session_update(session_id, message)
        if prompt[0].text == "wait":
            await asyncio.sleep(1000)
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, **_: Any) -> None:
        pass


asyncio.run(run_agent(Echo()))
