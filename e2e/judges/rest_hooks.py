"""What the judge knows of the daemon that it tries: names and ids that exist there, and that nobody is to wait for long.

A request is changed only where what it carries is right: what the generator made wrong stays wrong. In every fourth
request the names and ids stay as they were made, so that unknown ones are tried too.
"""

import re
import zlib

import schemathesis

SPAN = re.compile(r"([0-9]{1,8}(\.[0-9]+)?(ms|s)|[0-9]{1,6}(\.[0-9]+)?(m|min)|[0-9]{1,4}(\.[0-9]+)?h|[0-9]{1,3}(\.[0-9]+)?d)")
FIELDS = {"turn": "t", "run": "r", "question": "q", "after": "m"}
SHORT = "20ms"

# The paths that wait by themselves, whatever is not said.
WAITS = {"/message", "/v1/turns/{id}/wait", "/v1/runs/{id}/wait"}

# The names of the daemon's charter, by path and field; the first one is its own or a worker's.
NAMES = {
    "/message": {"to": ["w-cat", "auto"], "role": ["w-cat", "w-false", "w-slow"]},
    "/v1/send": {"to": ["w-cat", "auto", "w-slow"], "role": ["w-slow", "w-false"]},
    "/v1/spawn": {"role": ["w-cat"], "profile": ["cat"]},
    "/v1/stop": {"worker": ["w-false-1"]},
    "/v1/run": {"recipe": ["echo", "ask"]},
}


JOBS = {"echo": {"word": "hello"}, "ask": {}}

# The ids that the daemon told so far, by their letter.
seen = {"t": [], "r": [], "m": [], "q": []}


def known(value, letter, seed):
    """Returns an id that exists, one of the newest, for one that has the form of such an id."""
    ids = seen[letter]
    right = isinstance(value, str) and re.fullmatch(letter + "[0-9]{1,19}", value)
    return ids[-1 - seed // 4 % min(len(ids), 4)] if right and ids and seed % 4 else value


def name(value, names, seed):
    return names[seed // 4 % len(names)] if isinstance(value, str) and seed % 4 else value


def is_span(value):
    if isinstance(value, bool):
        return False
    if isinstance(value, (int, float)):
        return 0 <= value <= 320_000_000
    return isinstance(value, str) and SPAN.fullmatch(value) is not None


def shorten(fields, path):
    if "wait" in fields and fields["wait"] is not None:
        if is_span(fields["wait"]) or (isinstance(fields["wait"], str) and fields["wait"].isdecimal()):
            fields["wait"] = SHORT
    elif path in WAITS:
        fields["wait"] = SHORT


def one_of(fields):
    """`/v1/status` takes at most one of three; OpenAPI has no word for that."""
    good = [name for name in ("turn", "run", "worker") if name in fields
            and isinstance(fields[name], str) and (name == "worker" or re.fullmatch(name[0] + "[0-9]{1,19}", fields[name]))]
    for name in good[1:]:
        del fields[name]
    if "wait" in fields and (not good or good[0] == "worker") and fields["wait"] == SHORT:
        del fields["wait"]


def exactly_one(reply):
    """`/v1/reply` takes exactly one of two from whoever is no worker; the document tells both callers' bodies."""
    good = [name for name in ("question", "turn") if isinstance(reply.get(name), str)
            and re.fullmatch(name[0] + "[0-9]{1,19}", reply[name])]
    if len(good) == 2:
        del reply["turn"]
    elif reply.get("question") is None and reply.get("turn") is None:
        reply["turn"] = "t1"


def usable(body):
    """What a schema may hold is said by JSON Schema and by the charter, not by the document; without one nothing is
    sent back."""
    if isinstance(body.get("schema"), str):
        body["schema"] = "string"
    elif isinstance(body.get("schema"), dict):
        body["schema"] = {"type": "object"}
    elif body.get("schema") is None and isinstance(body.get("corrections"), (int, float)):
        del body["corrections"]


@schemathesis.hook
def after_call(context, case, response):
    if response.status_code < 300:
        for letter, number in re.findall(rb'"([trmq])([0-9]{1,19})"', response.content):
            ids, found = seen[letter.decode()], (letter + number).decode()
            if found not in ids:
                ids.append(found)


@schemathesis.hook
def before_call(context, case, kwargs):
    path = case.operation.path
    # Of the whole request, so that the same one is changed in the same way when it is tried again.
    seed = zlib.crc32(repr((path, case.path_parameters, case.query, case.body)).encode("utf-8", "surrogatepass"))
    if isinstance(case.path_parameters, dict) and "id" in case.path_parameters:
        case.path_parameters["id"] = known(case.path_parameters["id"], path.removeprefix("/v1/")[0], seed)
    if isinstance(case.query, dict) and case.operation.method.upper() == "GET":
        for field, letter in FIELDS.items():
            if field in case.query:
                case.query[field] = known(case.query[field], letter, seed)
        if "wait" in path or path in ("/v1/poll", "/v1/status"):
            shorten(case.query, path)
        if path == "/v1/status":
            one_of(case.query)
    if isinstance(case.body, dict):
        if path in ("/message", "/v1/send", "/v1/run"):
            shorten(case.body, path)
        if path in ("/message", "/v1/send"):
            usable(case.body)
        for field, letter in FIELDS.items():
            if field in case.body:
                case.body[field] = known(case.body[field], letter, seed)
        if path == "/v1/reply":
            exactly_one(case.body)
        if isinstance(case.body.get("messages"), list):
            case.body["messages"] = [known(one, "m", seed) for one in case.body["messages"]]
        for field, names in NAMES.get(path, {}).items():
            if field in case.body:
                case.body[field] = name(case.body[field], names, seed)
        # What a job may hold is said by its recipe and not by the document.
        recipe = case.body.get("recipe")
        if path == "/v1/run" and isinstance(recipe, str) and recipe in JOBS and "job" in case.body:
            case.body["job"] = JOBS[recipe]
