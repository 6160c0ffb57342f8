#!/usr/bin/env python3
"""Runs ckpt with --json on fixtures and damaged copies of them, and validates every document.

  validate_reports.py --ckpt PATH

Each run has to print one line of JSON that its schema in docs/schemas accepts, whose exit field is the exit
status of the program, and an error line on standard error where the answer is not yes. Exits 1 if anything
does not hold, 77 if the module jsonschema is missing.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

try:
    import jsonschema
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TOP = Path(__file__).resolve().parent.parent
FIXTURES = TOP / "tests" / "fixtures"
SCHEMAS = TOP / "docs" / "schemas"
COMMANDS = ("inspect", "verify", "convert", "prefetch")
# Definitions that differ between the commands on purpose.
OWN_DEFINITIONS = {"file"}


def unique_keys(pairs):
    """Two equal keys in one object would hide a value from most readers."""
    names = [name for name, _ in pairs]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"keys that occur twice: {sorted(twice)}")
    return dict(pairs)


def load_schemas():
    return {command: json.loads((SCHEMAS / f"ckpt.{command}.json").read_text()) for command in COMMANDS}


def different_definitions(schemas):
    """Each schema stands alone, so what they share is written four times and has to stay equal."""
    first = {}
    for command, schema in schemas.items():
        for name, definition in schema["$defs"].items():
            if name in OWN_DEFINITIONS:
                continue
            other, known = first.setdefault(name, (command, definition))
            if known != definition:
                yield f"$defs/{name} differs between ckpt.{other}.json and ckpt.{command}.json"


class Runner:
    """Runs the program and collects what is wrong with its documents."""

    def __init__(self, program, schemas):
        self.program = program
        self.validators = {}
        for command, schema in schemas.items():
            kind = jsonschema.validators.validator_for(schema)
            kind.check_schema(schema)
            self.validators[command] = kind(schema)
        self.documents = 0
        self.problems = []
        self.exits = {command: set() for command in COMMANDS}

    def run(self, command, *arguments, exits=None, words=None, environment=None):
        """`exits`, `words`: what the run has to answer; None: only the form counts."""
        call = [os.fspath(argument) for argument in arguments]
        done = subprocess.run(
            [self.program, *call, "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, **(environment or {})},
            timeout=60,
        )
        shown = " ".join(os.fsencode(word).decode(errors="backslashreplace") for word in call)
        for problem in self.check(command, done, exits, words):
            self.problems.append(f"ckpt {shown}: {problem}")

    def check(self, command, done, exits, words):
        self.documents += 1
        self.exits[command].add(done.returncode)
        try:
            text = done.stdout.decode("utf-8")
            document = json.loads(text, object_pairs_hook=unique_keys)
        except ValueError as error:
            yield f"exit {done.returncode}, no JSON: {error}; {done.stderr[:300]!r}"
            return
        if text.count("\n") != 1 or not text.endswith("\n"):
            yield "not one line"
        for error in self.validators[command].iter_errors(document):
            best = jsonschema.exceptions.best_match([error])
            yield f"at {best.json_path}: {best.message[:400]}"
        if document["exit"] != done.returncode:
            yield f"exit {document['exit']} in the document, {done.returncode} from the program"
        if (done.returncode != 0) != (done.stderr != b""):
            yield f"exit {done.returncode}, but {len(done.stderr)} bytes on standard error"
        if exits is not None and done.returncode != exits:
            yield f"exit {done.returncode}, expected {exits}; {done.stderr[:300]!r}"
        word = document["error"]["word"] if document["error"] else None
        if words is not None and word not in words:
            yield f"error {word}, expected {' or '.join(words)}"


def make_damaged(folder):
    """Files that are no checkpoints, or whole ones no longer."""
    demo = (FIXTURES / "good-demo.safetensors").read_bytes()
    archive = (FIXTURES / "good-demo.pt").read_bytes()
    files = {
        "empty.pt": b"",
        "short.pt": b"abc",
        "page.bin": b"<!DOCTYPE html><html></html>",
        "pointer.safetensors": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 31028\n",
        "gguf.bin": b"GGUF" + bytes(60),
        "cut.safetensors": demo[: len(demo) // 2],
        "cut-header.safetensors": demo[:200],
        "long.safetensors": demo + bytes(8),
        "suffix.pt": archive + b"behind the end",
        "prefix.pt": b"PK\x03\x04" + archive,
        "cut-early.pt": archive[:100],
        "name\xff.safetensors": demo,
    }
    for name, content in files.items():
        with open(os.path.join(os.fsencode(folder), name.encode("latin-1")), "wb") as out:
            out.write(content)
    return sorted(os.fsdecode(name) for name in os.listdir(os.fsencode(folder)))


def make_set(folder):
    """Two shards that an index names, and one that it names in vain."""
    folder.mkdir()
    for number in (1, 2):
        shutil.copy(FIXTURES / "good-demo.safetensors", folder / f"model-{number}.safetensors")
    whole = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    holed = {"weight_map": {**whole["weight_map"], "c": "model-3.safetensors", "d": "model-4.safetensors"}}
    escaping = {"weight_map": {"a": "../good-demo.safetensors"}}
    for name, content in (("whole", whole), ("holed", holed), ("escaping", escaping)):
        (folder / f"{name}.index.json").write_text(json.dumps(content))


def inspect_cases(run, fixtures, damaged):
    for path in fixtures + damaged:
        run("inspect", "inspect", path)
        run("inspect", "inspect", path, "--sha256", "--allow-dangerous")
    demo = FIXTURES / "good-demo.pt"
    run("inspect", demo, exits=0)
    run("inspect", "inspect", *fixtures, exits=1)
    run("inspect", "inspect", demo, FIXTURES / "no-such.pt", exits=3, words=["not-found"])
    run("inspect", "inspect", FIXTURES / "bad-cut.pt", FIXTURES / "no-such.pt", exits=1, words=["truncated"])
    run("inspect", "inspect", FIXTURES, exits=3, words=["unsupported"])
    run("inspect", "inspect", os.devnull, exits=3)
    run("inspect", "inspect", demo, "--include", "head.*", exits=0)
    run("inspect", "inspect", demo, "--include", "none*", exits=1, words=["no-match"])
    run("inspect", "inspect", demo, "--exclude", "*", exits=0)
    run("inspect", "inspect", demo, "--root", "/", exits=0)
    run("inspect", "inspect", demo, "--root", "nowhere", exits=1, words=["no-match"])
    run("inspect", "inspect", demo, "--limit-pickle-bytes", "10", words=["limit"])
    run("inspect", "inspect", demo, "--limit-records", "1", exits=3, words=["limit"])
    run("inspect", "inspect", demo, "--limit-rank", "1", words=["limit"])


def verify_cases(run, fixtures, damaged, work):
    for path in fixtures + damaged:
        run("verify", "verify", path)
    demo, same = FIXTURES / "good-demo.pt", FIXTURES / "good-demo.safetensors"
    flat, tied, cut = (FIXTURES / name for name in ("good-flat.pt", "good-tied.pt", "bad-cut.pt"))
    run("verify", "verify", demo, same, exits=0)
    run("verify", "verify", same, demo, "--threads", "1", exits=0)
    run("verify", "verify", demo, same, "--each", exits=0)
    run("verify", "verify", demo, flat, exits=1, words=["differ"])
    run("verify", "verify", demo, FIXTURES / "bad-flipped.pt", exits=1)
    run("verify", "verify", demo, FIXTURES / "no-such.pt", exits=3, words=["not-found"])
    run("verify", "verify", demo, FIXTURES / "no-such.pt", "--each", exits=3, words=["not-found"])
    run("verify", "verify", cut, FIXTURES / "no-such.pt", demo, exits=1, words=["truncated"])
    run("verify", "verify", FIXTURES / "good-ambiguous-roots.pt", demo, exits=1, words=["ambiguous-root"])
    run("verify", "verify", demo, same, "--include", "none*", exits=1, words=["no-match"])
    run("verify", "verify", demo, "--expect", "tensors=27", "--expect", "F16=10", exits=0)
    run("verify", "verify", demo, "--expect", "tensors=28", exits=1, words=["expectation"])
    run("verify", "verify", demo, "--expect", "sha256=" + "0" * 64, exits=1, words=["expectation"])
    run("verify", "verify", demo, "--expect", "model=" + "0" * 64, exits=1, words=["expectation"])
    run("verify", "verify", tied, work / "dropped.safetensors", exits=0)


def convert_cases(run, fixtures, damaged, work):
    out = work / "out.safetensors"
    for path in fixtures + damaged:
        run("convert", "convert", path, out, "--force", "--no-sync")
        run("convert", "convert", path, out, "--force", "--dry-run", "--root", "/")
    demo, tied = FIXTURES / "good-demo.pt", FIXTURES / "good-tied.pt"
    run("convert", "convert", demo, work / "synced.safetensors", exits=0)
    run("convert", "convert", demo, work / "synced.safetensors", exits=1, words=["would-overwrite"])
    run("convert", "convert", tied, work / "dropped.safetensors", "--shared", "drop", exits=0)
    run("convert", "convert", tied, out, "-f", "--shared", "fail", exits=1, words=["would-lose"])
    run("convert", "convert", demo, out, "-f", "--strict", exits=1, words=["would-lose"])
    run("convert", "convert", FIXTURES / "unsupported-dtypes.pt", out, "-f", exits=3, words=["unsupported"])
    run("convert", "convert", FIXTURES / "unsupported-sparse.pt", out, "-f", "--skip")
    run("convert", "convert", FIXTURES / "bad-flipped.pt", out, "-f", exits=1, words=["corrupt"])
    run("convert", "convert", FIXTURES / "good-ambiguous-roots.pt", out, "-f", words=["ambiguous-root"])
    run("convert", "convert", FIXTURES / "good-strided.pt", out, "-f", "--metadata", "k=v", exits=0)
    run("convert", "convert", demo, work / "no-such-folder" / "out.safetensors", exits=3, words=["not-found"])
    run("convert", "convert", work / "no-such.pt", out, exits=3, words=["not-found"])


def prefetch_cases(run, fixtures, damaged, work):
    for path in fixtures + damaged:
        run("prefetch", "prefetch", path)
    demo, same = FIXTURES / "good-demo.pt", FIXTURES / "good-demo.safetensors"
    copy, models = work / "copy.safetensors", work / "models"
    shutil.copy(same, copy)
    run("prefetch", "prefetch", demo, same, same, exits=0)
    run("prefetch", "prefetch", FIXTURES)
    run("prefetch", "prefetch", copy, "--query", exits=0)
    run("prefetch", "prefetch", copy, "--evict", exits=0)
    run("prefetch", "prefetch", copy, "--no-skip", "--readers", "2", exits=0)
    run("prefetch", "prefetch", copy, "--max-bytes", "100", "--force", exits=0)
    run("prefetch", "prefetch", copy, "--readers", "0", exits=0)
    run("prefetch", "prefetch", copy, exits=0, environment={"CKPT_PREFETCH": "3"})
    run("prefetch", "prefetch", copy, exits=2, words=["usage"], environment={"CKPT_PREFETCH": "many"})
    run("prefetch", "prefetch", models / "whole.index.json", exits=0)
    run("prefetch", "prefetch", models / "holed.index.json", exits=1, words=["missing-member"])
    run("prefetch", "prefetch", models / "escaping.index.json", exits=1, words=["path-escape"])
    run("prefetch", "prefetch", work / "no-such.safetensors", exits=3, words=["not-found"])
    (work / "nothing").mkdir()
    run("prefetch", "prefetch", work / "nothing", exits=1, words=["no-match"])
    # A word of exit status 3 and one of 1 together: the document speaks for the second.
    pointer, cut = (work / "damaged" / name for name in ("pointer.safetensors", "cut.safetensors"))
    run("prefetch", "prefetch", pointer, cut, exits=1, words=["truncated"])


def usage_cases(run):
    demo = FIXTURES / "good-demo.pt"
    run("inspect", exits=2, words=["usage"])
    run("inspect", "--no-such-option", exits=2, words=["usage"])
    run("inspect", "inspct", exits=2, words=["usage"])
    run("inspect", "inspect", demo, "--columns", "weight", exits=2, words=["usage"])
    run("inspect", "inspect", demo, "--sort", "colour", exits=2, words=["usage"])
    run("verify", "verify", demo, "--expect", "tensors", exits=2, words=["usage"])
    run("verify", "verify", demo, "--threads", "17", exits=2, words=["usage"])
    run("convert", "convert", demo, "-", exits=2, words=["usage"])
    run("convert", "convert", demo, "out", "--metadata", "novalue", exits=2, words=["usage"])
    run("convert", "convert", demo, "out", "--shared", "perhaps", exits=2, words=["usage"])
    run("prefetch", "prefetch", demo, "--readers", "17", exits=2, words=["usage"])
    run("prefetch", "prefetch", demo, "--max-bytes", "much", exits=2, words=["usage"])
    run("prefetch", "prefetch", demo, "--evict", "--query", exits=2, words=["usage"])
    for command in COMMANDS:
        run(command, command, exits=2, words=["usage"])
        run(command, command, demo, "--no-such-option", exits=2, words=["usage"])


def golden_cases(runner):
    """The documents that the command-line cases expect, with numbers put back where the cases have placeholders."""
    for path in sorted((FIXTURES.parent / "cli" / "cases").glob("*/stdout")):
        text = path.read_text(encoding="utf-8")
        if not text.startswith('{"schema":'):
            continue
        for placeholder, value in ('"{SECONDS}"', "0.5"), ('"{RESIDENT}"', "4096"), ("{VERSION}", "0.0.0"):
            text = text.replace(placeholder, value)
        document = json.loads(text, object_pairs_hook=unique_keys)
        command = document["schema"].removeprefix("ckpt.").removesuffix("/1")
        runner.documents += 1
        for error in runner.validators[command].iter_errors(document):
            best = jsonschema.exceptions.best_match([error])
            runner.problems.append(f"{path.parent.name}: at {best.json_path}: {best.message[:400]}")


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--ckpt", required=True, help="the program")
    options = parser.parse_args()

    schemas = load_schemas()
    runner = Runner(os.path.abspath(options.ckpt), schemas)
    runner.problems += different_definitions(schemas)
    endings = (".pt", ".ckpt", ".safetensors")
    fixtures = sorted(path for path in FIXTURES.iterdir() if path.suffix in endings)
    with tempfile.TemporaryDirectory(prefix="ckpt-reports-") as name:
        work = Path(name)
        (work / "damaged").mkdir()
        damaged = [os.path.join(work, "damaged", file) for file in make_damaged(work / "damaged")]
        make_set(work / "models")
        inspect_cases(runner.run, fixtures, damaged)
        convert_cases(runner.run, fixtures, damaged, work)
        verify_cases(runner.run, fixtures, damaged, work)
        prefetch_cases(runner.run, fixtures, damaged, work)
        usage_cases(runner.run)
    golden_cases(runner)
    for command, seen in runner.exits.items():
        if not {0, 1, 2, 3} <= seen:
            runner.problems.append(f"no case of {command} ends with {sorted({0, 1, 2, 3} - seen)}")
    for problem in runner.problems:
        print(problem)
    print(f"{runner.documents} documents, {len(runner.problems)} problems")
    return 1 if runner.problems else 0


if __name__ == "__main__":
    sys.exit(main())
