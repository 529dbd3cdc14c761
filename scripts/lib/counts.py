"""Adds up test results: JUnit files of ctest, and 'NAME ok|failed|skipped [reason]' lines of the shell checks.

Prints each failure and each skip with its reason, then the line 'N passed, N failed, N skipped'. Exit 1 if anything failed or nothing ran.
"""
import sys
import xml.etree.ElementTree as ElementTree


def junit(path):
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name", "?")
        output = case.findtext("system-out") or ""
        if case.find("failure") is not None or case.get("status") == "fail":
            yield "failed", name, output
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            reason = [line for line in output.splitlines() if line and "[" not in line and "Note:" not in line and "Running main" not in line]
            yield "skipped", name, " ".join(reason[:3]) or (case.find("skipped").get("message", "") if case.find("skipped") is not None else "")
        else:
            yield "passed", name, ""


def lines(path):
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            name, _, rest = line.strip().partition(" ")
            word, _, reason = rest.partition(" ")
            if name:
                yield {"ok": "passed", "failed": "failed", "skipped": "skipped"}[word], name, reason


def main(paths):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for path in paths:
        for state, name, detail in (junit if path.endswith(".xml") else lines)(path):
            counts[state] += 1
            if state == "failed":
                print(f"FAILED {name}\n" + "\n".join("    " + line for line in detail.splitlines()[-40:]))
            elif state == "skipped":
                print(f"skipped {name}: {detail}")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] or not counts["passed"] else 0


sys.exit(main(sys.argv[1:]))
