#!/usr/bin/env python3
"""Runs the program as a user does and compares all that it prints, its exit status and the files it makes.

Usage: run_cases.py --ckpt PROGRAM [--update] [CASE...]

A case is a folder below cases/:
  cmd              one line: arguments of the program, quoted as for a shell; NAME=VALUE words in front set
                   variables. {FIXTURES} is the folder that the program runs in, which holds copies of the
                   fixtures named in cmd and setup.
  setup            optional, one step a line: write NAME TEXT (with Python's escapes), copy FROM TO,
                   cut NAME BYTES, link TARGET NAME, folder NAME
  exit             the exit status
  stdout, stderr   what is printed, exactly; a missing file stands for nothing
  stdout.contains  instead of stdout, where the text belongs to a library: lines that must be in it; so
                   stderr.contains
  new              names of the files that are made, changed or gone, one a line; a missing file stands for none

Before they are compared, outputs are normalised: the program's version becomes {VERSION}, seconds ("0.01 s",
"0.0123" in a table of timings, "seconds" in JSON) become {SECONDS}, rates become {RATE}, the share of a file
that is resident becomes {RESIDENT}, the name of the system {SYSTEM}, and the folder {FIXTURES}. --update writes
exit, stdout, stderr and new as they are now; look at the difference before you keep it.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CASES = HERE / "cases"
FIXTURES = HERE.parent / "fixtures"
VARIABLES = ("CKPT_PREFETCH", "TF_LOAD_PREFETCH", "NO_COLOR")
TIMEOUT_SECONDS = 60

SUBSTITUTIONS = [
    (re.compile(r'("version":")\d+\.\d+\.\d+'), r"\g<1>{VERSION}"),
    (re.compile(r"^ckpt \d+\.\d+\.\d+", re.M), "ckpt {VERSION}"),
    (re.compile(r'("(?:finish_)?seconds":)[0-9.e+-]+'), r'\g<1>"{SECONDS}"'),
    (re.compile(r"^(container|metadata|data)( +)\d+\.\d{4}", re.M), r"\g<1>\g<2>{SECONDS}"),
    (re.compile(r"\b\d+\.\d+ s\b"), "{SECONDS} s"),
    (re.compile(r"finishing took \d+\.\d+"), "finishing took {SECONDS}"),
    (re.compile(r"[0-9.]+ [kMGTPE]?B/s"), "{RATE}"),
    (re.compile(r"(?:100\.0 %|unknown)$", re.M), "{RESIDENT}"),
    (re.compile(r'("resident_(?:before|after)":)(?:\d+|null)'), r'\g<1>"{RESIDENT}"'),
    (re.compile(r'("system":")[^"]*'), r"\g<1>{SYSTEM}"),
]


def normalised(text, folder):
    text = text.replace(str(folder), "{FIXTURES}")
    for pattern, replacement in SUBSTITUTIONS:
        text = pattern.sub(replacement, text)
    return text


def read(path):
    return path.read_text(encoding="utf-8") if path.exists() else ""


def copy_fixtures(text, folder):
    """The fixtures whose names occur in `text`."""
    for fixture in FIXTURES.iterdir():
        if fixture.name in text:
            shutil.copy(fixture, folder / fixture.name)


def set_up(step, folder):
    word, _, rest = step.partition(" ")
    first, _, second = rest.partition(" ")
    target = folder / first
    if word == "write":
        target.write_bytes(second.encode("utf-8").decode("unicode_escape").encode("latin-1"))
    elif word == "copy":
        shutil.copy(target, folder / second)
    elif word == "cut":
        target.write_bytes(target.read_bytes()[: int(second)])
    elif word == "link":
        (folder / second).symlink_to(first)
    elif word == "folder":
        target.mkdir()
    else:
        raise SystemExit(f"no such step: {step}")


def contents(folder):
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def run(case, program, folder):
    """What the case comes to: name of an expectation file -> its content."""
    command = read(case / "cmd").strip()
    setup = read(case / "setup")
    copy_fixtures(command + " " + setup, folder)
    for step in setup.splitlines():
        set_up(step, folder)
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    environment["LC_ALL"] = "C"
    words = shlex.split(command.replace("{FIXTURES}", str(folder)))
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    before = contents(folder)
    done = subprocess.run(
        [program, *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=TIMEOUT_SECONDS, check=False)
    after = contents(folder)
    gone = [f"{name} is gone" for name in before if name not in after]
    made = [name for name in after if before.get(name) != after[name]]
    return {
        "exit": f"{done.returncode}\n",
        "stdout": normalised(done.stdout.decode("utf-8"), folder),
        "stderr": normalised(done.stderr.decode("utf-8"), folder),
        "new": "".join(f"{name}\n" for name in made + gone),
    }


def differences(case, outcome):
    for name, found in outcome.items():
        parts = case / f"{name}.contains"
        if parts.exists():
            for line in read(parts).splitlines():
                if line not in found:
                    yield f"{name} does not contain {line!r}:\n{found}"
        elif read(case / name) != found:
            yield f"{name} should be\n{read(case / name)}but is\n{found}"


def update(case, outcome):
    for name, found in outcome.items():
        if (case / f"{name}.contains").exists():
            continue
        if found:
            (case / name).write_text(found, encoding="utf-8")
        else:
            (case / name).unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ckpt", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    cases = [CASES / name for name in options.cases]
    cases = cases or sorted(path for path in CASES.iterdir() if path.is_dir())
    failed = 0
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="ckpt-cli-") as name:
            outcome = run(case, str(Path(options.ckpt).resolve()), Path(name).resolve())
        if options.update:
            update(case, outcome)
            continue
        problems = list(differences(case, outcome))
        failed += bool(problems)
        for problem in problems:
            print(f"{case.name}: {problem}")
    print(f"{len(cases)} cases, {failed} failed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
