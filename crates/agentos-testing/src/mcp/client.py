"""Drives an MCP server for a test: the first line tells which server, each further line what to ask of it.

Every answer is one line of JSON. The calls of one line are made at the same time.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import Implementation


def say(document):
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def written(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def call(client, asked):
    try:
        return written(await client.call_tool(asked["name"], asked.get("arguments"), meta=asked.get("meta")))
    except MCPError as error:
        return {"protocol_error": {"code": error.error.code, "message": error.error.message}}


async def main():
    wanted = json.loads(sys.stdin.readline())
    server = StdioServerParameters(**wanted["server"])
    me = Implementation(name="test-client", version="1.2.3")
    async with Client(server, client_info=me, mode=wanted["mode"], read_timeout_seconds=120) as client:
        say({
            "server": written(client.server_info),
            "protocol": client.protocol_version,
            "instructions": client.instructions,
        })
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            if asked.get("tools"):
                say(written(await client.list_tools()))
            else:
                say(await asyncio.gather(*(call(client, one) for one in asked["calls"])))
    say({"closed": True})


asyncio.run(main())
