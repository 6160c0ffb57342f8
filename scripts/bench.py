#!/usr/bin/env python3
"""Times ckpt against the plain tools, all in one run, and prints one Markdown table.

Each group runs its commands in rounds, in a new random order every round, so that a machine that drifts
drifts for all of them. Medians are compared with medians of the same group. Warm groups read their files once
before each command; cold groups evict them and have the kernel confirm that no page is left. Outputs are
removed, and what is dirty is written back, before every timed run. Peak memory is measured apart, under
/usr/bin/time.

Usually started by bench.sh, which makes the data first.
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
PYTHON_CONVERT = (
    "import sys, torch; from safetensors.torch import save_file; "
    "state = torch.load(sys.argv[1], mmap=True, weights_only=True); "
    "save_file({k: v.contiguous() for k, v in state.items()}, sys.argv[2], metadata={'format': 'pt'})"
)


class Command:
    """One thing to time."""

    def __init__(self, title, words, reads=(), writes=None, most_seconds=None, most_bytes=None, beats=None):
        self.title = title
        self.words = words
        self.reads = reads  # files that are made warm or cold before a run
        self.writes = writes  # the output, removed before a run
        self.most_seconds = most_seconds
        self.most_bytes = most_bytes
        self.beats = beats  # (title of another command of the group, at least so many times as fast)
        self.seconds = []
        self.peak = None

    def median(self):
        return statistics.median(self.seconds)


class Group:
    """Commands that are compared with each other."""

    def __init__(self, title, commands, is_cold=False):
        self.title = title
        self.commands = [command for command in commands if command]
        self.is_cold = is_cold


# Page cache.


def read_through(path):
    with open(path, "rb", buffering=0) as source:
        while source.read(4 * MIB):
            pass


def evict(path, ckpt):
    """Drops the pages of a file; False if the kernel still counts some."""
    with open(path, "rb") as source:
        os.fsync(source.fileno())
        os.posix_fadvise(source.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if not resident_bytes(path):
        return True
    for tool in ([ckpt, "prefetch", "--evict", path], ["vmtouch", "-q", "-e", path]):
        if shutil.which(tool[0]):
            subprocess.run(tool, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if not resident_bytes(path):
            return True
    return False


def resident_bytes(path):
    """As the kernel counts them, by fincore; None where it is not there."""
    if not shutil.which("fincore"):
        return None
    done = subprocess.run(
        ["fincore", "-b", "-n", "-o", "RES", path], capture_output=True, text=True, check=True
    )
    return int(done.stdout.split()[0])


# Runs.


def prepare(command, is_cold, ckpt):
    if command.writes and os.path.exists(command.writes):
        os.unlink(command.writes)
    if command.writes:
        os.sync()
    for path in command.reads:
        if is_cold and not evict(path, ckpt):
            sys.exit(f"bench.py: {path}: {resident_bytes(path)} bytes stay in the page cache")
        if not is_cold:
            read_through(path)


def run(command):
    begin = time.perf_counter()
    done = subprocess.run(command.words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        text = done.stderr.decode(errors="replace").strip()
        sys.exit(f"bench.py: {' '.join(command.words)}: exit {done.returncode}: {text}")
    return seconds


def measure_peak(command):
    """Peak resident bytes; a small process starts the command, so that this script's size does not count."""
    if not os.path.exists("/usr/bin/time"):
        return None
    with tempfile.NamedTemporaryFile("r") as report:
        words = ["/usr/bin/time", "-f", "%M", "-o", report.name, *command.words]
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return int(report.read().split()[-1]) * 1024


def run_group(group, rounds, ckpt, shuffler):
    for number in range(rounds + 1):
        order = list(group.commands)
        shuffler.shuffle(order)
        for command in order:
            prepare(command, group.is_cold, ckpt)
            is_first = number == 0
            if is_first and not group.is_cold:
                command.peak = measure_peak(command)  # and warms up programs and libraries
            elif not is_first:
                command.seconds.append(run(command))
        print(f"{group.title}: round {number} of {rounds}", file=sys.stderr)
    for command in group.commands:
        if command.writes and os.path.exists(command.writes):
            os.unlink(command.writes)


# What is run.


class Bench:
    """Knows the files and tools, and builds the groups; what is absent is left out and noted."""

    def __init__(self, args):
        self.folder = args.dir
        self.ckpt = args.ckpt
        self.python = args.python
        self.notes = []
        self.flat = self.path("flat.pt")
        self.reference = self.path("reference.safetensors")
        self.records = self.path("records100k.pt")
        self.has_ckpt = self.has_tool(args.ckpt)
        self.has_python = self.has_modules()

    def path(self, name):
        return os.path.join(self.folder, name)

    def has_tool(self, name):
        if shutil.which(name):
            return True
        self.note(f"left out: {os.path.basename(name)} is not there")
        return False

    def has_modules(self):
        words = [self.python, "-c", "import torch, safetensors"]
        if subprocess.run(words, capture_output=True, check=False).returncode == 0:
            return True
        self.note("left out: torch and safetensors in Python are not there")
        return False

    def has_file(self, path):
        if os.path.exists(path):
            return True
        self.note(f"left out: no {os.path.basename(path)}")
        return False

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def own(self, title, *words, **facts):
        return Command(f"ckpt {title}", [self.ckpt, *words], **facts) if self.has_ckpt else None

    def tool(self, title, *words, **facts):
        return Command(title, list(words), **facts) if self.has_tool(words[0]) else None

    def in_python(self, source, target, **facts):
        if not self.has_python:
            return None
        words = [self.python, "-c", PYTHON_CONVERT, source, target]
        return Command("torch.load(mmap) + save_file", words, writes=target, **facts)

    def warm(self):
        flat, both = self.flat, (self.flat, self.reference)
        sums = "openssl dgst -sha256, both files"
        return Group(
            "warm, reading",
            [
                self.own("inspect", "inspect", flat, reads=(flat,), most_seconds=0.020, most_bytes=32 * MIB),
                self.own("prefetch", "prefetch", flat, reads=(flat,), most_bytes=64 * MIB),
                self.tool("cat", "cat", flat, reads=(flat,)),
                self.own("verify A B", "verify", *both, reads=both, most_bytes=64 * MIB, beats=(sums, 2.0)),
                self.tool(sums, "openssl", "dgst", "-sha256", *both, reads=both),
            ],
        )

    def writing(self):
        flat, out = self.flat, self.path("out.safetensors")
        copy = self.path("copy.pt")
        facts = {"reads": (flat,), "writes": out, "most_bytes": 64 * MIB}
        copied = "cp, then sync"
        return Group(
            "warm, writing",
            [
                self.own("convert --no-sync", "convert", flat, out, "--no-sync", beats=("cp", 1.6), **facts),
                self.own("convert", "convert", flat, out, beats=(copied, 1.0), **facts),
                self.tool("cp", "cp", "--reflink=never", flat, copy, reads=(flat,), writes=copy),
                self.tool(
                    copied,
                    "sh",
                    "-c",
                    'cp --reflink=never "$0" "$1" && sync "$1"',
                    flat,
                    copy,
                    reads=(flat,),
                    writes=copy,
                ),
                self.in_python(flat, self.path("python.safetensors"), reads=(flat,)),
            ],
        )

    def cold(self):
        flat, both, out = self.flat, (self.flat, self.reference), self.path("out.safetensors")
        copy = self.path("copy.pt")
        sums = "openssl dgst -sha256, both files"
        return Group(
            "cold",
            [
                self.own("inspect", "inspect", flat, reads=(flat,)),
                self.own("prefetch", "prefetch", flat, reads=(flat,)),
                self.tool("cat", "cat", flat, reads=(flat,)),
                self.own("verify A B", "verify", *both, reads=both),
                self.tool(sums, "openssl", "dgst", "-sha256", *both, reads=both),
                self.own("convert --no-sync", "convert", flat, out, "--no-sync", reads=(flat,), writes=out),
                self.tool("cp", "cp", "--reflink=never", flat, copy, reads=(flat,), writes=copy),
            ],
            is_cold=True,
        )

    def many(self):
        source, out, copy = self.records, self.path("records.safetensors"), self.path("records.copy")
        return Group(
            "100,000 records, warm",
            [
                self.own("inspect", "inspect", source, reads=(source,), most_seconds=0.25),
                self.tool("unzip -l", "unzip", "-l", source, reads=(source,)),
                self.own(
                    "convert --no-sync",
                    "convert",
                    source,
                    out,
                    "--no-sync",
                    reads=(source,),
                    writes=out,
                    most_seconds=0.5,
                ),
                self.tool("cp", "cp", "--reflink=never", source, copy, reads=(source,), writes=copy),
                self.in_python(source, self.path("records.python.safetensors"), reads=(source,)),
            ],
        )

    def groups(self, wanted):
        has_models = self.has_file(self.flat) and self.has_file(self.reference)
        makers = {"warm": self.warm, "write": self.writing, "cold": self.cold, "records": self.many}
        for name in wanted:
            if self.has_file(self.records) if name == "records" else has_models:
                yield makers[name]()


# The table.


def seconds_text(seconds):
    return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds:.3f} s"


def throughput(command):
    """Of the input; blank for what reads only a listing."""
    if "inspect" in command.title or command.title == "unzip -l":
        return ""
    total = sum(os.path.getsize(path) for path in command.reads)
    return f"{total / command.median() / 1e9:.2f} GB/s"


def verdict(command, group):
    """(ratio, target, met or missed)."""
    ratio, targets, met = "", [], []
    if command.beats:
        title, factor = command.beats
        other = next((c for c in group.commands if c.title == title), None)
        if other:
            times = other.median() / command.median()
            ratio = f"{times:.2f} x {title}"
            targets.append(f"≥ {factor} x")
            met.append(times >= factor)
    if command.most_seconds:
        targets.append(f"≤ {seconds_text(command.most_seconds)}")
        met.append(command.median() <= command.most_seconds)
    if command.most_bytes and command.peak:
        targets.append(f"≤ {command.most_bytes // MIB} MiB")
        met.append(command.peak <= command.most_bytes)
    return ratio, ", ".join(targets), ("met" if all(met) else "MISSED") if met else ""


def table(groups):
    lines = ["| state | command | median | least to most | input rate | peak memory | ratio | target | |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    missed = 0
    for group in groups:
        for command in group.commands:
            ratio, target, word = verdict(command, group)
            missed += word == "MISSED"
            spread = f"{seconds_text(min(command.seconds))} to {seconds_text(max(command.seconds))}"
            peak = f"{command.peak / MIB:.1f} MiB" if command.peak else ""
            cells = [
                group.title,
                command.title,
                seconds_text(command.median()),
                spread,
                throughput(command),
                peak,
            ]
            lines.append("| " + " | ".join([*cells, ratio, target, word]) + " |")
    return "\n".join(lines), missed


def machine(bench):
    """Processor, memory, system and versions, for whoever reads the table later."""
    facts = [f"{len(os.sched_getaffinity(0))} processors"]
    with open("/proc/cpuinfo", encoding="utf-8") as source:
        models = [line.split(":", 1)[1].strip() for line in source if line.startswith("model name")]
    facts.extend(models[:1])
    facts.append(f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / (1 << 30):.1f} GiB of memory")
    facts.append(f"Linux {os.uname().release}")
    for words in ([bench.ckpt, "--version"], ["openssl", "version"], ["cp", "--version"]):
        if shutil.which(words[0]):
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            facts.extend(done.stdout.splitlines()[:1])
    return "; ".join(facts)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", default="build/bench", help="the folder with the data; outputs go there too")
    parser.add_argument("--ckpt", default="ckpt", metavar="PATH", help="the program")
    parser.add_argument(
        "--python", default=sys.executable, metavar="PATH", help="a Python with torch and safetensors"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1, help="of the order in each round")
    parser.add_argument("--only", default="warm,write,cold,records", help="groups, by commas")
    return parser.parse_args()


def main():
    args = parse_arguments()
    bench = Bench(args)
    shuffler = random.Random(args.seed)
    done = []
    for group in bench.groups(args.only.split(",")):
        run_group(group, args.rounds, args.ckpt, shuffler)
        done.append(group)
    text, missed = table(done)
    print(f"{machine(bench)}; {args.rounds} rounds\n\n{text}")
    for note in bench.notes:
        print(f"\n{note}")
    if not shutil.which("fincore"):
        print("\nfincore is not there: that cold files had no page in memory is not shown")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
