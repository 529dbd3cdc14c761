"""Reads `cutegen report RUN --json` on standard input and prints the demo's last line. usage: result_line.py TASK"""
import json
import sys


def speedup(report):
    time = (report["best"] or {}).get("verdict", {}).get("timing") or {}
    known = [a for a in time.get("against", []) if a["samples"] > 0]
    if not known:
        return "none"
    return f"{'' if time['measured'] else 'predicted:'}{known[0]['speedup']['ratio']:.2f}"


report = json.load(sys.stdin)
print(f"RESULT task={sys.argv[1]} device={report['device'].get('kind', 'none')} verified={'yes' if report['verified'] else 'no'} "
      f"speedup={speedup(report)} report={report['run']}")
