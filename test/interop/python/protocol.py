"""Line-delimited JSON between a test and one reader process.

Request:  {"id": n, "op": name, ...}
Answer:   {"id": n, "rows": [[text|null, ...], ...]} any number of times, then {"id": n, "done": true, "columns": [...], "value": ...}
          or {"id": n, "error": {"type": class name, "message": text}}
Ends with standard input, so a reader never outlives its test.
"""
import json
import os
import sys

ROWS_PER_LINE = 2000


def claim_stdout():
    """Keeps standard output for answers: whatever libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    return answers


def serve(answers, operations):
    """operations: name -> function(request) returning (columns, rows) for a table, or any JSON value."""
    def send(message):
        answers.write(json.dumps(message, ensure_ascii=False, separators=(",", ":")) + "\n")

    send({"ready": True})
    answers.flush()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        number = request["id"]
        try:
            result = operations[request["op"]](request)
            if isinstance(result, tuple):
                columns, rows = result
                for start in range(0, len(rows), ROWS_PER_LINE):
                    send({"id": number, "rows": rows[start:start + ROWS_PER_LINE]})
                send({"id": number, "done": True, "columns": columns})
            else:
                send({"id": number, "done": True, "value": result})
        except Exception as error:  # every refusal of the engine is an answer
            send({"id": number, "error": {"type": type(error).__name__, "message": str(error)}})
        answers.flush()
