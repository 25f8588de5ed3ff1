"""Compares what the conformance suite found with what `docs/conformance.md` says it finds.

`conformance.py RESULTS DOCUMENT`: RESULTS holds one directory a protocol version, as the suite writes it. A new failure
is a difference, and so is an explained one that passes now, and a scenario that is gone or new. With FLEETD_BLESS=1 the
table in the document is rewritten; what is new has then to be explained by hand.
"""

import json
import os
import re
import sys
from pathlib import Path

ROW = re.compile(r"^\| (\d{4}-\d\d-\d\d) \| `([^`]+)` \| (.*?) \| (.*?) \|$", re.M)


def found(results):
    """Returns the result of each scenario by version and name: `passes`, or the checks that failed."""
    rows = {}
    for file in results.glob("*/server-*/checks.json"):
        # The suite puts the time after the name.
        name = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", file.parent.name).removeprefix("server-")
        failed = [check["id"] for check in json.loads(file.read_text()) if check["status"] == "FAILURE"]
        rows[file.parts[-3], name] = ", ".join(f"`{id}`" for id in sorted(set(failed))) or "passes"
    return rows


def main(results, document):
    text = document.read_text()
    told = {(version, name): result for version, name, result, _ in ROW.findall(text)}
    why = {(version, name): why for version, name, _, why in ROW.findall(text)}
    rows = found(results)
    if os.environ.get("FLEETD_BLESS"):
        lines = [f"| {v} | `{n}` | {r} | {why.get((v, n), '' if r == 'passes' else 'NOT EXPLAINED')} |" for (v, n), r in sorted(rows.items())]
        head, _, rest = text.partition("| --- | --- | --- | --- |\n")
        document.write_text(head + "| --- | --- | --- | --- |\n" + "\n".join(lines) + "\n" + ROW.sub("", rest).lstrip("\n"))
        return
    differences = [
        f"{version} {name}: found {rows.get((version, name), 'nothing')}, the document says {told.get((version, name), 'nothing')}"
        for version, name in sorted(rows.keys() | told.keys())
        if rows.get((version, name)) != told.get((version, name))
    ]
    differences += [
        f"{version} {name}: the failure is not explained"
        for (version, name), result in told.items()
        if result != "passes" and not why[version, name].strip("—- ").replace("NOT EXPLAINED", "")
    ]
    if not rows or differences:
        sys.exit("conformance is not as the document says:\n" + "\n".join(differences or ["nothing was run"]))
    print(f"      {len(rows)} scenarios, {sum(r == 'passes' for r in rows.values())} pass, the others are explained")


main(Path(sys.argv[1]), Path(sys.argv[2]))
