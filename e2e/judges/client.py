"""The Python client of the protocol's authors as a judge of fleetd's MCP door.

One part a process, since who sits in the leader's seat is a process: `client.py PART MODE URL [MORE]`, where MODE is
`auto` (2026-07-28, no sessions) or `legacy` (2025-11-25, sessions). Ends with 1 at the first thing that is not so.
Called by `e2e/judges/mcp`, which starts and kills the daemon.
"""

import asyncio
import json
import os
import sys
import time
import traceback
from urllib.request import urlopen

from jsonschema import Draft202012Validator
from mcp import Client
from mcp.shared.exceptions import MCPError

VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
LEADERS = """fleet_whoami fleet_profiles fleet_list fleet_status fleet_send fleet_poll fleet_ack fleet_reply
    fleet_cancel fleet_spawn fleet_stop fleet_route fleet_recipes fleet_run fleet_charter""".split()
WORKERS = ["fleet_whoami", "fleet_reply", "fleet_ask"]


def must(true, *said):
    if not true:
        raise AssertionError(" ".join(str(part) for part in said))


def say(text):
    print(text, flush=True)


class Judge:
    """A client that looks at every answer twice: what it says, and whether that is what the tool promised."""

    def __init__(self, client):
        self.client = client
        self.tools = {}
        self.called = set()

    async def list(self, names):
        listed = (await self.client.list_tools()).tools
        must([tool.name for tool in listed] == names, "tools:", [tool.name for tool in listed])
        for tool in listed:
            Draft202012Validator.check_schema(tool.input_schema)
            Draft202012Validator.check_schema(tool.output_schema)
            must(tool.description and tool.annotations, tool.name, "says too little of itself")
        self.tools = {tool.name: tool for tool in listed}

    async def good(self, name, arguments=None, **more):
        """Calls a tool with what its own schema allows, and returns an answer that its own schema allows."""
        tool, arguments = self.tools[name], arguments or {}
        Draft202012Validator(tool.input_schema).validate(arguments)
        result = await self.client.call_tool(name, arguments, **more)
        told = result.structured_content
        must(not result.is_error, name, arguments, "was refused:", told)
        Draft202012Validator(tool.output_schema).validate(told)
        must(json.loads(result.content[0].text) == told, name, "says one thing as text and another as data")
        self.called.add(name)
        return told

    async def refused(self, kind, name, arguments):
        result = await self.client.call_tool(name, arguments)
        told = result.structured_content
        must(result.is_error and told["kind"] == kind, name, arguments, "should be", kind, "and is", told)
        return told


def client(mode, url, **more):
    return Client(url, mode=mode, **more)


async def begin(open_client, mode, names=LEADERS):
    must(open_client.protocol_version == VERSIONS[mode], "the protocol is", open_client.protocol_version)
    must(open_client.server_info.name == "fleetd" and open_client.instructions, open_client.server_info)
    judge = Judge(open_client)
    await judge.list(names)
    return judge


async def tools(mode, url):
    """Every tool with good arguments, and what each does with bad ones."""
    async with client(mode, url) as c:
        j = await begin(c, mode)
        must((await j.good("fleet_whoami"))["caller"] == "operator", "a look took the seat")
        await j.good("fleet_list")
        must((await j.good("fleet_whoami"))["caller"] == "leader", "the first call did not take the seat")
        await j.good("fleet_profiles")
        await j.good("fleet_recipes")
        await j.good("fleet_charter")
        await j.good("fleet_charter", {"reload": True})
        await j.good("fleet_status")
        must((await j.good("fleet_route", {"prompt": "x", "kind": "bulk"}))["because"], "a route without a reason")

        # Sends: at once and by its key again, with a wait, and through the rubrics.
        send = {"to": "w-upper", "prompt": "hello", "key": f"tools {mode}"}
        turn = (await j.good("fleet_send", send))["turn"]
        must((await j.good("fleet_send", send))["turn"] == turn, "the same key is another turn")
        await j.refused("key_conflict", "fleet_send", {**send, "prompt": "other"})
        reply = await j.good("fleet_send", {**send, "wait": "2m"})
        must(reply["text"] == "HELLO" and reply["turn"] == turn, reply)
        must((await j.good("fleet_send", {"to": "auto", "prompt": "ja", "wait": 120}))["text"] == "JA", "by the rubrics")
        await j.good("fleet_status", {"turn": turn})
        must((await j.good("fleet_status", {"turn": turn, "wait": "1s"}))["text"] == "HELLO", "a second look")

        # A question by the command line, and one by a worker's own connection.
        asked = await j.good("fleet_send", {"to": "w-ask", "prompt": "x", "wait": "2m"})
        question = asked["questions"][0]["question"]
        must(asked["pending"] == "question", asked)
        await j.good("fleet_reply", {"question": question, "text": "main"})
        reply = await j.good("fleet_status", {"turn": asked["turn"], "wait": "2m"})
        must(reply["text"] == "on main", reply)
        asked = await j.good("fleet_send", {"to": "w-client", "prompt": f"{mode} {url}", "wait": "5m"})
        must(asked.get("pending") == "question", asked)
        await j.good("fleet_reply", {"turn": asked["turn"], "text": "the red one"})
        reply = await j.good("fleet_status", {"turn": asked["turn"], "wait": "2m"})
        must(reply["text"] == "said by the tool: the red one", reply)

        # Workers, turns and runs that begin and end.
        worker = (await j.good("fleet_spawn", {"role": "w-upper"}))["name"]
        await j.good("fleet_status", {"worker": worker})
        await j.good("fleet_stop", {"worker": worker, "kill": True})
        turn = (await j.good("fleet_send", {"to": "w-slow", "prompt": "50 to be cancelled"}))["turn"]
        must((await j.good("fleet_cancel", {"turn": turn}))["outcome"] == "cancelled", "the cancelled turn")
        ran = await j.good("fleet_run", {"recipe": "shout", "job": {"word": "hey"}, "wait": "2m"})
        must(ran["value"] == "HEY", ran)
        run = (await j.good("fleet_run", {"recipe": "colour", "job": {}}))["run"]
        asked = await j.good("fleet_status", {"run": run, "wait": "2m"})
        must(asked["pending"] == "question", asked)
        await j.good("fleet_status", {"run": run})
        await j.good("fleet_reply", {"question": asked["questions"][0]["question"], "text": "red"})
        must((await j.good("fleet_status", {"run": run, "wait": "2m"}))["value"] == "red", "the answered run")
        run = (await j.good("fleet_run", {"recipe": "colour", "job": {}}))["run"]
        await j.good("fleet_cancel", {"run": run})

        # Mail: reading takes nothing away, confirming does.
        mail = await j.good("fleet_poll", {"limit": 500, "wait": "1s"})
        ids = [message["message"] for message in mail["messages"]]
        must(ids and ids == [m["message"] for m in (await j.good("fleet_poll", {"limit": 500}))["messages"]], mail)
        must((await j.good("fleet_ack", {"messages": ids}))["acked"] == ids, "not all was confirmed")
        must((await j.good("fleet_poll"))["messages"] == [], "confirmed mail is still there")
        must(j.called == set(LEADERS), "never called:", set(LEADERS) - j.called)

        await refusals(j)
        await prompts(c)


async def refusals(j):
    for name, tool in j.tools.items():
        told = await j.refused("invalid", name, {"no_such_field": 1})
        must("no_such_field" in told["message"], name, told)
        for field in tool.input_schema.get("properties", {}):
            told = await j.refused("invalid", name, {field: [{"a": []}]})
            must(told["message"], name, field, told)
    told = await j.refused("unknown", "fleet_sned", {})
    must("fleet_send" in json.dumps(told["hints"]), "no valid choice is named:", told)
    told = await j.refused("unknown", "fleet_send", {"to": "w-uper", "prompt": "x"})
    must("w-upper" in json.dumps(told), "no valid choice is named:", told)
    await j.refused("invalid", "fleet_send", {"to": "w-upper"})
    await j.refused("not_allowed", "fleet_ask", {"text": "may a leader ask?"})


async def prompts(c):
    listed = {prompt.name: prompt for prompt in (await c.list_prompts()).prompts}
    must({"shout", "colour"} <= listed.keys(), "prompts:", list(listed))
    must([(a.name, a.required) for a in listed["shout"].arguments] == [("word", True)], listed["shout"])
    text = (await c.get_prompt("shout", {"word": "abc"})).messages[0].content.text
    must('{"word":"abc"}' in text and "fleet_run" in text, text)
    try:
        await c.get_prompt("shuot")
    except MCPError as error:
        must("shout" in str(error), "no valid choice is named:", error)
    else:
        must(False, "an unknown prompt was given")


async def worker(mode, url):
    """A worker that talks for itself; its turn's prompt said by which protocol."""
    async with client(mode, url) as c:
        j = await begin(c, mode, WORKERS)
        must((await j.good("fleet_whoami"))["caller"] == "worker", "a worker is not known for one")
        await j.refused("not_allowed", "fleet_list", {})
        answer = (await j.good("fleet_ask", {"text": "Which one?", "wait": "5m"}))["answer"]
        await j.good("fleet_reply", {"text": "to be replaced"})
        await j.good("fleet_reply", {"text": f"said by the tool: {answer}"})
    say("printed, and not what counts")


async def slow(mode, url):
    """Progress while a turn takes 17 seconds; and a client that cancels ends its own wait and nothing else."""
    async with client(mode, url) as c:
        j = await begin(c, mode)
        cancelled = asyncio.create_task(j.good("fleet_send", {"to": "w-slow", "prompt": f"4 {mode} left", "wait": "2m"}))
        began = time.monotonic()
        await j.good("fleet_whoami")
        # What any answer takes just now, on a machine that may be busy.
        usual, began, told = time.monotonic() - began, time.monotonic(), []

        async def progress(done, total, message):
            told.append(time.monotonic() - began)
            must(message, "progress says nothing")

        waits = j.good(
            "fleet_send", {"to": "w-slow", "prompt": f"17 {mode}", "wait": "2m"}, progress_callback=progress
        )
        long = asyncio.create_task(waits)
        await asyncio.sleep(1.5)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        left = [t for t in (await j.good("fleet_list"))["turns"] if t["state"] != "settled"]
        must(len(left) == 2, "cancelling a wait ended a turn:", left)
        mail = await until_mail(j, lambda m: m["reply"]["text"] == f"done: 4 {mode} left")
        must(mail, "the reply of a cancelled wait")
        must((await long)["text"] == f"done: 17 {mode}", "the slow turn")
        must(told and told[0] < 1 + usual, "the first progress came after", told)
        must(len(told) > 1 and 14 < told[1] - told[0] < 17, "progress came after", told)


async def until_mail(j, wanted):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        mail = (await j.good("fleet_poll", {"limit": 500, "wait": "1s"}))["messages"]
        if found := [message for message in mail if "reply" in message and wanted(message)]:
            return found
        await asyncio.sleep(0.2)
    return []


async def until_up(url):
    """A request to a dead server ends this client for good; so it comes back when the server does."""
    health = url.replace("/mcp", "/healthz")
    async with asyncio.timeout(60):
        while True:
            try:
                return await asyncio.to_thread(lambda: urlopen(health, timeout=5).close())
            except OSError:
                await asyncio.sleep(0.1)


async def changes(mode, url, charter):
    """The lists change with the charter, and the client is told."""
    heard = asyncio.Queue()

    async def handler(message):
        heard.put_nowait(type(getattr(message, "root", message)).__name__)

    async with client(mode, url, message_handler=handler) as c:
        j = await begin(c, mode)
        await j.good("fleet_list")
        await c.list_prompts()
        if mode == "legacy":
            await rewrite(c, j, charter, mode, heard.get)
            return
        async with c.listen(tools_list_changed=True, prompts_list_changed=True) as events:
            events = aiter(events)

            async def next_event():
                return type(await anext(events)).__name__

            await rewrite(c, j, charter, mode, next_event)


async def rewrite(c, j, charter, mode, next_event):
    with open(os.path.join(charter, f"recipes-{mode}.lua"), "w") as file:
        file.write(f'fleet.recipe("added-{mode}", {{ about = "Is new.", input = {{}} }}, function(job, run) return 1 end)\n')
    await j.good("fleet_charter", {"reload": True})
    async with asyncio.timeout(60):
        while True:
            event = await next_event()
            names = [prompt.name for prompt in (await c.list_prompts()).prompts]
            if "Prompt" in event and "Changed" in event and f"added-{mode}" in names:
                return


async def holds(mode, url):
    """Takes the seat, leaves mail behind, and is killed."""
    async with client(mode, url) as c:
        j = await begin(c, mode)
        turn = (await j.good("fleet_send", {"to": "w-upper", "prompt": "for whoever comes"}))["turn"]
        say(f"sits {turn}")
        await asyncio.sleep(600)


async def second(mode, url, pid, turn):
    """Is refused the seat while another process has it, and gets it and the mail after that one's end."""
    async with client(mode, url) as c:
        menu = [tool.name for tool in (await c.list_tools()).tools]
        seat = (await c.call_tool("fleet_whoami", {})).structured_content
        must(menu == ["fleet_whoami"], "a menu for who cannot lead:", menu, seat)
        result = await c.call_tool("fleet_poll", {})
        told = json.dumps(result.structured_content)
        must(result.is_error and f"process {pid} has been the leader for " in told, "no word of who sits there since when:", told)
        must(pid in json.dumps(seat) and "since" in json.dumps(seat), "whoami says nothing of the seat:", seat)
        say("refused")
        async with asyncio.timeout(60):
            while (await c.call_tool("fleet_poll", {})).is_error:
                await asyncio.sleep(0.1)
        j = Judge(c)
        # The menu has changed with the seat.
        await c.list_tools(cache_mode="refresh")
        await j.list(LEADERS)
        must(await until_mail(j, lambda m: m["reply"]["turn"] == turn), "the mail that waited")


async def crash(mode, url):
    """A call that waits while the daemon is killed: it is resumed, or it fails and its repetition is the same call."""
    turns = []

    async def progress(done, total, message):
        turns.append(message.split()[0])
        say("waiting")

    send = {"to": "w-slow", "prompt": f"3 {mode} crash", "wait": "2m", "key": f"crash {mode}"}
    began = time.monotonic()
    async with client(mode, url) as c:
        j = await begin(c, mode)
        try:
            reply = await j.good("fleet_send", send, progress_callback=progress)
            must(mode == "legacy", "a call without a session came back from a dead daemon")
        except MCPError as error:
            must(mode == "auto", "the resumed call failed:", error)
            must(time.monotonic() - began < 60, "the failure came late")
            say(f"failed: {error}")
            await until_up(url)
            reply = await j.good("fleet_send", send)
        must(reply["turn"] == turns[0] and reply["text"] == f"done: 3 {mode} crash", reply, turns)
        # The same client goes on as if nothing had been.
        must((await j.good("fleet_whoami"))["caller"] == "leader", "the seat is lost")
        mail = await until_mail(j, lambda m: m["reply"]["turn"] == turns[0])
        must(len(mail) == 1, "the reply is doubled or lost:", mail)


PARTS = {f.__name__: f for f in (tools, worker, slow, changes, holds, second, crash)}


def main(part, *rest):
    if part == "worker":
        rest = sys.stdin.read().split()
    try:
        asyncio.run(PARTS[part](*rest))
    except BaseException as error:
        # The client wraps what goes wrong inside it into groups.
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        traceback.print_exception(error)
        sys.exit(f"{part} {' '.join(rest)}: not so")


main(*sys.argv[1:])
