#!/usr/bin/env python3
"""Holds ckpt against torch and the Safetensors reference writer on random checkpoints.

For each checkpoint that torch saved: the converted file is byte-identical to the reference writer's, loads
with equal bits, verify finds no difference, and inspect lists what torch lists. What cannot be converted is
refused with the right word and leaves no file. Exits 77 when torch or safetensors is not there.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

sys.dont_write_bytecode = True
warnings.filterwarnings("ignore")

try:
    import safetensors
    import safetensors.torch
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

REPOSITORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(REPOSITORY, "scripts"))

import graphs
import torch_oracle as oracle

SCHEMAS = os.path.join(REPOSITORY, "docs", "schemas")


class Mismatch(Exception):
    """ckpt and the oracle disagree."""


def expect(condition, text):
    if not condition:
        raise Mismatch(text)


def expect_equal(found, expected, what):
    expect(found == expected, f"{what}: expected {shortened(expected)}, found {shortened(found)}")


def shortened(value):
    text = repr(value)
    return text if len(text) <= 300 else text[:300] + " ..."


class Schemas:
    """docs/schemas, where it exists and jsonschema can be imported."""

    def __init__(self):
        self.validators = {}
        self.checked = 0
        try:
            import jsonschema
        except ImportError:
            print("JSON is not validated: jsonschema cannot be imported")
            return
        for command in ("inspect", "verify", "convert", "prefetch"):
            path = os.path.join(SCHEMAS, f"ckpt.{command}.json")
            if not os.path.exists(path):
                print(f"JSON of {command} is not validated: no {os.path.relpath(path, REPOSITORY)}")
                continue
            with open(path, encoding="utf-8") as source:
                schema = json.load(source)
            self.validators[command] = jsonschema.validators.validator_for(schema)(schema)

    def check(self, command, document):
        if command not in self.validators:
            return
        self.checked += 1
        for error in self.validators[command].iter_errors(document):
            raise Mismatch(
                f"{command} --json against its schema: at {list(error.path)}: {error.message[:300]}"
            )


class Program:
    """Runs ckpt and parses what it prints."""

    def __init__(self, path, schemas):
        self.path = path
        self.schemas = schemas
        self.runs = 0

    def run(self, *arguments):
        self.runs += 1
        done = subprocess.run([self.path, *arguments], capture_output=True, timeout=60)
        expect(done.returncode >= 0, f"ckpt {' '.join(arguments)}: ended by signal {-done.returncode}")
        return done

    def json(self, command, *arguments):
        """(exit status, document)."""
        done = self.run(command, *arguments, "--json")
        try:
            document = json.loads(done.stdout)
        except ValueError as error:
            raise Mismatch(f"{command} --json: {error}; stderr: {done.stderr.decode(errors='replace')}")
        expect_equal(document.get("exit"), done.returncode, f"{command} --json: exit")
        self.schemas.check(command, document)
        return done.returncode, document

    def knows(self, command, option):
        return option.encode() in self.run(command, "--help").stdout


def listed(document):
    """name -> row of the only file."""
    expect_equal(len(document["files"]), 1, "inspect --json: files")
    rows = document["files"][0]["tensors"]
    names = [row["name"] for row in rows]
    expect_equal(len(set(names)), len(names), "inspect --json: distinct names")
    return dict(zip(names, rows))


def check_listing(rows, answer, what):
    expected = {name.decode(): tensor for name, tensor in answer.named}
    expect_equal(sorted(rows), sorted(expected), f"{what}: names")
    for name, tensor in expected.items():
        row = rows[name]
        expect_equal(row["dtype"], oracle.dtype_word(tensor.dtype), f"{what}: {name!r}: dtype")
        expect_equal(row["shape"], oracle.logical_shape(tensor), f"{what}: {name!r}: shape")
        expect_equal(row["bytes"], tensor.numel() * tensor.element_size(), f"{what}: {name!r}: bytes")


def check_digests(rows, answer, what):
    for name, tensor in answer.named:
        found = rows[name.decode()].get("sha256")
        expect_equal(found, oracle.digest(tensor), f"{what}: {name.decode()!r}: sha256")


def check_bytes(path, answer):
    """The file against the reference writer, then what the reference reader makes of it."""
    with open(path, "rb") as source:
        found = source.read()
    expected = oracle.reference_bytes(answer.state())
    if found != expected:
        at = next(
            (i for i, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]),
            min(len(found), len(expected)),
        )
        raise Mismatch(f"output: {len(found)} bytes for {len(expected)}, first difference at {at}")
    loaded = safetensors.torch.load_file(path)
    for name, tensor in answer.named:
        twin = loaded.pop(name.decode())
        expect_equal((twin.dtype, tuple(twin.shape)), (tensor.dtype, tuple(tensor.shape)), f"loaded {name!r}")
        expect(oracle.logical_bytes(twin) == oracle.logical_bytes(tensor), f"loaded {name!r}: other bits")
    expect_equal(list(loaded), [], "loaded: further tensors")


def check_converted(program, source, target, answer, has_expect):
    status, document = program.json("inspect", source)
    expect_equal(status, 0, "inspect IN: exit")
    expect_equal(document["files"][0]["root"], answer.root, "inspect IN: root")
    check_listing(listed(document), answer, "inspect IN")
    done = program.run("convert", source, target, "-f", "--no-sync")
    expect_equal(
        done.returncode, 0, f"convert: exit (stderr: {done.stderr.decode(errors='replace').strip()})"
    )
    check_bytes(target, answer)
    status, document = program.json("verify", source, target)
    expect_equal(status, 0, f"verify IN OUT: exit (error: {document.get('error')})")
    status, document = program.json("inspect", target, "--sha256")
    expect_equal(status, 0, "inspect OUT: exit")
    check_listing(listed(document), answer, "inspect OUT")
    check_digests(listed(document), answer, "inspect OUT")
    if has_expect:
        done = program.run("verify", target, "--expect", f"model={oracle.model_digest(answer)}")
        expect_equal(done.returncode, 0, "verify --expect model=: exit")


def refusals(answer):
    """The words that convert may answer; which comes first is not laid down."""
    names = [name for name, _ in answer.named]
    words = set()
    if answer.root is None:
        words.add("ambiguous-root")
    if len(set(names)) < len(names):
        words.add("name-collision")
    if answer.nameless or not all(oracle.is_unicode(name) for name in names):
        words.add("would-lose")
    if not all(oracle.has_safetensors_form(tensor) for _, tensor in answer.named):
        words.add("unsupported")
    if not names:
        words.add("no-match")
    return words


def check_refused(program, source, target, answer):
    status, document = program.json("convert", source, target, "-f", "--no-sync")
    words = refusals(answer)
    word = (document.get("error") or {}).get("word")
    expect(word in words, f"convert: expected one of {sorted(words)}, found {word}")
    expect_equal(status, 3 if word == "unsupported" else 1, f"convert: exit for {word}")
    expect(not os.path.exists(target), "convert: refused, yet the output exists")
    status, _ = program.json("inspect", source)
    expect_equal(status, 0, "inspect IN: exit")


def run_one(program, seed, folder, has_expect):
    """True if the graph could be converted."""
    graph = graphs.Graph(seed)
    source = os.path.join(folder, f"in {seed}.pt")
    target = os.path.join(folder, f"out {seed}.safetensors")
    graph.save(source)
    answer = oracle.Answer(torch.load(source, weights_only=False))
    try:
        if answer.is_convertible():
            check_converted(program, source, target, answer, has_expect)
            return True
        check_refused(program, source, target, answer)
        return False
    finally:
        for path in (source, target):
            if os.path.exists(path):
                os.unlink(path)


def run_all(program, args, folder):
    """(converted, refused, failures)."""
    has_expect = program.knows("verify", "--expect")
    outcomes, failures = {True: 0, False: 0}, 0
    for seed in range(args.seed, args.seed + args.count):
        try:
            outcomes[run_one(program, seed, folder, has_expect)] += 1
        except Mismatch as error:
            failures += 1
            print(f"FAILED seed {seed}: {error}", file=sys.stderr)
        except subprocess.TimeoutExpired as error:
            failures += 1
            print(f"FAILED seed {seed}: {error}", file=sys.stderr)
    return outcomes[True], outcomes[False], failures


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ckpt", default="ckpt", metavar="PATH", help="the program")
    parser.add_argument("--seed", type=int, default=1, help="of the first checkpoint")
    parser.add_argument("--count", type=int, default=120, help="checkpoints to try")
    return parser.parse_args()


def main():
    args = parse_arguments()
    versions = f"torch {torch.__version__}, safetensors {safetensors.__version__}"
    print(f"{versions}, Python {sys.version.split()[0]}; seeds {args.seed} to {args.seed + args.count - 1}")
    schemas = Schemas()
    program = Program(args.ckpt, schemas)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ckpt-interop-") as folder:
        converted, refused, failures = run_all(program, args, folder)
    seconds = time.monotonic() - begin
    print(
        f"{converted} converted, {refused} refused, {failures} failed; {program.runs} runs, "
        f"{schemas.checked} documents validated, {seconds:.1f} s"
    )
    if converted < args.count // 2:
        print("too few could be converted for this to mean much", file=sys.stderr)
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
