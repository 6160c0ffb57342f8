#!/usr/bin/env python3
"""Writes tests/fixtures with real torch: checkpoints, manifest.json and README.md.

  make_fixtures.py [DIR]        all files; good-old-* by --old-python (a torch 1.13), else left as they are
  make_fixtures.py --old DIR    only good-old-*, with the torch that runs this

Expected tensors in the manifest come from torch, expected output from the Safetensors reference writer.
Equal versions write equal bytes; the versions are printed and recorded.
"""

import argparse
import hashlib
import json
import os
import pickle
import struct
import subprocess
import sys
import types
import warnings
import zipfile

sys.dont_write_bytecode = True
warnings.filterwarnings("ignore")

import torch

import fixture_models as models

DEFAULT_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "fixtures")


class Fixture:
    """One file: how to write it and what it shows."""

    def __init__(self, name, shows, make, write=None, container="torch-zip", **options):
        self.name = name
        self.shows = shows
        self.make = make
        self.write = write or save_by_path
        self.container = container
        self.options = options


def save_by_path(make, path, protocol=2):
    """The file's stem becomes the archive's root folder."""
    torch.save(make(), path, pickle_protocol=protocol)


def save_by_buffer(make, path, protocol=2):
    """A file object has no name: the root folder is `archive`."""
    with open(path, "wb") as out:
        torch.save(make(), out, pickle_protocol=protocol)


def save_with_config(make, path, alignment=64, checksums=True):
    from torch.utils.serialization import config

    config.save.storage_alignment = alignment
    config.save.compute_crc32 = checksums
    try:
        torch.save(make(), path)
    finally:
        config.save.storage_alignment, config.save.compute_crc32 = 64, True


def save_legacy(make, path, protocol=2):
    with counted_storage_keys():
        torch.save(make(), path, pickle_protocol=protocol, _use_new_zipfile_serialization=False)


def save_pickle(make, path, protocol=4):
    with counted_storage_keys(), open(path, "wb") as out:
        pickle.dump(make(), out, protocol=protocol)


def save_script(make, path):
    torch.jit.save(make(), path)


class counted_storage_keys:
    """The legacy writer names storages by address; counting instead makes two runs write equal bytes."""

    def __enter__(self):
        self.saved = torch.serialization._legacy_save
        keys = {}

        def key_of(value):
            return (
                keys.setdefault(value, f"9400000000{len(keys):04d}") if isinstance(value, int) else str(value)
            )

        scope = dict(torch.serialization.__dict__, str=key_of)
        torch.serialization._legacy_save = types.FunctionType(self.saved.__code__, scope)
        return self

    def __exit__(self, *_):
        torch.serialization._legacy_save = self.saved


class Script(torch.jit.ScriptModule):
    """Its code is a text, so that the archive names no source file of this machine."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(models.ramp(3, 2))
        self.register_buffer("offset", models.ramp(2).to(torch.float16))
        self.define("def forward(self, x):\n    return x + self.offset\n")


def torch_fixtures():
    zip_ = Fixture
    m = models
    protocols = [
        zip_(f"good-protocol{n}.pt", f"Pickle protocol {n}{note}", m.flat, protocol=n)
        for n, note in enumerate([", which torch writes but cannot read back", "", "", "", "", ""])
    ]
    return [
        zip_(
            "good-flat.pt",
            "A flat state dict, F16, F32 and one I64, root folder named after the file",
            m.flat,
        ),
        zip_("good-nested.ckpt", "The tensors of good-flat.pt under state_dict", m.nested),
        zip_(
            "good-buffer.pt", "Written to a file object: the root folder is archive", m.flat, save_by_buffer
        ),
        zip_("good-deep.pt", "Dicts and lists inside each other, no wrapper key", m.deep),
        zip_(
            "good-demo.pt",
            "A small image classifier in two float dtypes under state_dict, with an epoch",
            m.demo,
        ),
        zip_(
            "good-training.ckpt",
            "A whole training state: one Adam step, schedulers, callbacks, loops",
            m.training,
        ),
        zip_("good-tied.pt", "Two names for one tensor", m.tied),
        zip_("good-slices.pt", "Three disjoint slices of one storage", m.slices),
        zip_("good-overlapping.pt", "Views of one storage that overlap", m.overlapping),
        zip_("good-transposed.pt", "Transposed and permuted tensors", m.transposed),
        zip_("good-channels-last.pt", "Convolution weights in channels-last order", m.channels_last),
        zip_("good-expanded.pt", "Stride 0: a few bytes seen many times", m.expanded),
        zip_("good-strided.pt", "Strided slices with an offset, a diagonal, sliding windows", m.strided),
        zip_("good-zero-dim.pt", "Tensors without dimensions", m.zero_dim),
        zip_("good-zero-elements.pt", "Tensors without elements", m.zero_elements),
        zip_("good-dtypes.pt", "Every dtype with a storage class that Safetensors holds", m.dtypes),
        zip_("good-untyped.pt", "Dtypes without a storage class: untyped storages", m.untyped_dtypes),
        zip_("good-untyped-views.pt", "Views and aliases over untyped storages", m.untyped_views),
        zip_("good-specials.pt", "NaN payloads, infinities, negative zero, subnormal numbers", m.specials),
        *protocols,
        zip_(
            "good-align4096.pt", "Storages aligned to 4,096 bytes", m.flat, save_with_config, alignment=4096
        ),
        zip_("good-no-crc.pt", "Written without checksums", m.flat, save_with_config, checksums=False),
        zip_("good-metadata.pt", "A state dict with torch's _metadata attribute", m.with_metadata),
        zip_("good-parameters.pt", "Parameters, tied, transposed, one with an attribute", m.parameters),
        zip_("good-numpy.pt", "NumPy scalars and an array beside the tensors", m.numpy_scalars),
        zip_("good-names.pt", "Names with dots, blanks, Unicode and control characters", m.names),
        zip_("good-odd-keys.pt", "Keys that are integers, bytes and tuples", m.odd_keys),
        zip_("good-ema.pt", "Plain weights and their averages in one dict", m.ema_pair),
        zip_("good-ambiguous-roots.pt", "Two wrapper keys that both hold tensors", m.ambiguous),
        zip_("good-stray-tensors.pt", "One wrapper key, and tensors outside it", m.stray),
        zip_("good-collision.pt", "Two paths with one name", m.collision),
        zip_("good-bare-tensor.pt", "One transposed tensor and nothing else", m.bare_tensor),
        zip_("good-bare-storage.pt", "One F16 storage and nothing else", m.bare_storage),
        zip_("good-storages.pt", "Storages saved without tensors, typed and untyped", m.storages),
        zip_("good-module.pt", "A whole pickled module, one buffer not persistent", m.module),
        zip_("good-memo.pt", "Enough items for several batches and the long memo opcodes", m.memo_heavy),
        zip_("good-script.pt", "TorchScript", Script, save_script, "torchscript"),
        zip_(
            "good-legacy.pt",
            "The stream that torch wrote before 1.6, flat",
            m.flat,
            save_legacy,
            "torch-legacy",
        ),
        zip_(
            "good-legacy-views.pt",
            "The old stream with views of one storage",
            m.overlapping,
            save_legacy,
            "torch-legacy",
        ),
        zip_(
            "good-pickle.pt", "A bare pickle, tensors embedded as old streams", m.flat, save_pickle, "pickle"
        ),
        zip_("unsupported-dtypes.pt", "Dtypes that Safetensors has no word for", m.homeless_dtypes),
        zip_("unsupported-quantized.pt", "Quantized tensors", m.quantized),
        zip_("unsupported-sparse.pt", "Sparse tensors", m.sparse),
        zip_("unsupported-lazy.pt", "Lazily conjugated and negated tensors", m.lazy_bits),
        zip_("unsupported-keys.pt", "Keys that give no name: None, True, 1.5", m.nameless_keys),
        zip_("unsupported-surrogate.pt", "A name with a lone surrogate", m.surrogate_name),
        zip_("unsupported-cycle.pt", "A dict that holds itself", m.cyclic),
        zip_("bad-dangerous-import.pt", "Its pickle calls posix.system with the argument true", m.dangerous),
    ]


def old_fixtures():
    m = models
    return [
        Fixture("good-old-flat.pt", "torch 1.13: no byteorder record, padding of 64", m.flat),
        Fixture("good-old-nested.pt", "torch 1.13, under state_dict", m.nested),
        Fixture("good-old-tied.pt", "torch 1.13, two names for one tensor and a true copy", m.old_tied),
        Fixture("good-old-memo.pt", "torch 1.13: storages in string order of their keys", m.memo_heavy),
        Fixture("good-old-legacy.pt", "torch 1.13, the old stream", m.flat, save_legacy, "torch-legacy"),
    ]


# Safetensors, by the reference writer.


def reference_fixtures():
    m = models
    both = {**m.dtypes(), **m.untyped_dtypes()}
    empty = {"none": torch.empty(0), "rows": torch.empty(0, 4, dtype=torch.int64), "one": m.ramp(1)}
    notes = {"author": "nobody", "format": "pt", "zeta": 'line\nand "quotes", grün'}
    return [
        ("good-dtypes.safetensors", "Every dtype that torch can hand over", both, None),
        ("good-flat.safetensors", "The tensors of good-flat.pt", dict(m.flat()), {"format": "pt"}),
        (
            "good-demo.safetensors",
            "The tensors of good-demo.pt",
            dict(m.demo()["state_dict"]),
            {"format": "pt"},
        ),
        ("good-metadata.safetensors", "Three metadata keys", {"weight": m.ramp(2, 3)}, notes),
        ("good-empty-tensors.safetensors", "Tensors without elements", empty, {"format": "pt"}),
        ("good-no-tensors.safetensors", "No tensors, no metadata", {}, None),
        ("good-only-metadata.safetensors", "No tensors, format pt", {}, {"format": "pt"}),
        ("good-names.safetensors", "Names that need escapes", dict(m.names()), None),
        ("good-zero-dim.safetensors", "Tensors without dimensions", copies(m.zero_dim()), {"format": "pt"}),
    ]


def copies(state):
    return {name: tensor.contiguous().clone() for name, tensor in state.items()}


def sorted_reference_bytes(state, metadata):
    """Metadata keys come in random order; asks until they come sorted, as ckpt writes them."""
    from safetensors.torch import save

    while True:
        data = save(state, metadata=metadata)
        (size,) = struct.unpack_from("<Q", data)
        keys = list(json.loads(data[8 : 8 + size]).get("__metadata__", {}))
        if keys == sorted(keys):
            return data


# The manifest.

MOST_OTHERS = 60


def writer_versions():
    return {"torch": torch.__version__.split("+")[0], "python": sys.version.split()[0]}


def file_facts(folder, name):
    with open(os.path.join(folder, name), "rb") as source:
        data = source.read()
    return {"file": name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def load(fixture, path):
    """What torch reads; for what it cannot or must not read, what was written."""
    if fixture.name.startswith("bad-") or fixture.name == "good-protocol0.pt":
        return fixture.make()
    if fixture.container == "torchscript":
        return torch.jit.load(path)
    if fixture.container == "pickle":
        with open(path, "rb") as source:
            return pickle.load(source)
    return torch.load(path, weights_only=False)


def describe(fixture, folder, versions):
    row = file_facts(folder, fixture.name)
    row.update(shows=fixture.shows, writer=versions, container=fixture.container)
    if fixture.name.startswith("unsupported-cycle"):
        return row
    top = load(fixture, os.path.join(folder, fixture.name))
    if fixture.container == "torchscript":
        top = dict(top.state_dict(keep_vars=True))
    return row | describe_graph(top)


def describe_graph(top):
    import torch_oracle as oracle

    answer = oracle.Answer(top)
    row = {"root": answer.root, "roots": answer.roots, "outside": answer.outside}
    row["tensors"] = [oracle.describe_tensor(name, tensor) for name, tensor in answer.named]
    row["aliases"] = [[name.decode("utf-8", "replace") for name in group] for group in answer.alias_groups()]
    row["nameless"] = [oracle.other_path(leaf) for leaf in answer.nameless]
    row["others_count"] = len(answer.others)
    row["others"] = [oracle.other_path(leaf) for leaf in answer.others[:MOST_OTHERS]]
    row["output_sha256"] = row["model_sha256"] = None
    if answer.is_convertible():
        output = oracle.reference_bytes(answer.state())
        row["output_bytes"] = len(output)
        row["output_sha256"] = hashlib.sha256(output).hexdigest()
        row["model_sha256"] = oracle.model_digest(answer)
    return row


def describe_safetensors(folder, name, shows, state, metadata):
    import safetensors

    row = file_facts(folder, name)
    versions = {"safetensors": safetensors.__version__, **writer_versions()}
    row.update(shows=shows, writer=versions, container="safetensors", metadata=metadata)
    facts = describe_graph(copies(state))
    if metadata != {"format": "pt"}:
        del facts["output_sha256"]
    return row | facts


# Damage.


def write_damaged(folder):
    """Returns manifest rows for the two damaged copies of good-demo.pt."""
    path = os.path.join(folder, "good-demo.pt")
    with open(path, "rb") as source:
        data = bytearray(source.read())
    cut = data[: len(data) - len(data) // 3]
    with open(os.path.join(folder, "bad-cut.pt"), "wb") as out:
        out.write(cut)
    record = "good-demo/data/12"
    at, size = record_place(path, record)
    flip = at + size // 2
    data[flip] ^= 0x10
    with open(os.path.join(folder, "bad-flipped.pt"), "wb") as out:
        out.write(data)
    return [
        file_facts(folder, "bad-cut.pt")
        | {
            "shows": "good-demo.pt without its last third",
            "writer": writer_versions(),
            "container": "torch-zip",
        },
        file_facts(folder, "bad-flipped.pt")
        | {"shows": "good-demo.pt with one bit of one storage flipped", "writer": writer_versions()}
        | {
            "container": "torch-zip",
            "record": record,
            "offset": flip,
            "tensors_changed": changed_tensors(folder),
        },
    ]


def record_place(path, name):
    """Offset and size of a stored record's data."""
    with zipfile.ZipFile(path) as archive, open(path, "rb") as source:
        info = archive.getinfo(name)
        source.seek(info.header_offset + 26)
        name_bytes, extra_bytes = struct.unpack("<HH", source.read(4))
        return info.header_offset + 30 + name_bytes + extra_bytes, info.file_size


def changed_tensors(folder):
    import torch_oracle as oracle

    digests = []
    for name in ("good-demo.pt", "bad-flipped.pt"):
        top = torch.load(os.path.join(folder, name), weights_only=False)
        digests.append({key.decode(): oracle.digest(value) for key, value in oracle.Answer(top).named})
    return [name for name, value in digests[0].items() if digests[1][name] != value]


# The run.


def write_old(folder):
    for fixture in old_fixtures():
        fixture.write(fixture.make, os.path.join(folder, fixture.name), **fixture.options)


def run_old(python, folder):
    """Has another Python write good-old-*; returns its versions, None when it cannot."""
    try:
        command = [python, os.path.abspath(__file__), "--old", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        print(f"good-old-* left as they are: {error}", file=sys.stderr)
        return None


def earlier_versions(folder):
    try:
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as source:
            rows = json.load(source)["files"]
    except (OSError, ValueError):
        return None
    return next((row["writer"] for row in rows if row["file"].startswith("good-old-")), None)


def write_all(folder, old_python):
    rows = []
    old_versions = run_old(old_python, folder) or earlier_versions(folder)
    for fixture in torch_fixtures():
        fixture.write(fixture.make, os.path.join(folder, fixture.name), **fixture.options)
        rows.append(describe(fixture, folder, writer_versions()))
    for fixture in old_fixtures():
        if old_versions and os.path.exists(os.path.join(folder, fixture.name)):
            rows.append(describe(fixture, folder, old_versions))
    for name, shows, state, metadata in reference_fixtures():
        with open(os.path.join(folder, name), "wb") as out:
            out.write(sorted_reference_bytes(copies(state), metadata))
        rows.append(describe_safetensors(folder, name, shows, state, metadata))
    rows.extend(write_damaged(folder))
    rows.sort(key=lambda row: row["file"])
    return rows


MANIFEST_NOTE = (
    "Written by scripts/make_fixtures.py. Tensors, digests and roots come from torch, output_sha256 from the "
    "Safetensors reference writer; root is null where two answers are possible. Paths in others start at the "
    "top; the first 60 are listed."
)

README_HEAD = """# Fixtures

Real files, written by `scripts/make_fixtures.py` with the versions below; `manifest.json` holds what torch
reads from them. `good-` files are whole, `unsupported-` files are whole and hold something that Safetensors
cannot, `bad-` files are damaged or dangerous. Other damage is made inside the tests.

"""


def manifest_text(rows):
    """One line a tensor, so that a change shows as the lines it touches."""
    files = []
    for row in rows:
        fields = []
        for key, value in row.items():
            text = json.dumps(value)
            if key == "tensors" and value:
                text = "[\n" + ",\n".join("    " + json.dumps(tensor) for tensor in value) + "\n   ]"
            fields.append(f"   {json.dumps(key)}: {text}")
        files.append("  {\n" + ",\n".join(fields) + "\n  }")
    return f'{{\n "note": {json.dumps(MANIFEST_NOTE)},\n "files": [\n' + ",\n".join(files) + "\n ]\n}\n"


def readme(rows):
    lines = [README_HEAD]
    for row in rows:
        writer = ", ".join(f"{name} {version}" for name, version in row["writer"].items())
        lines.append(f"- `{row['file']}`: {row['shows']}. {writer}; SHA-256 `{row['sha256']}`\n")
    return "".join(lines)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default=DEFAULT_FOLDER, metavar="DIR")
    parser.add_argument("--old", action="store_true", help="write good-old-* only")
    parser.add_argument("--old-python", default="/usr/bin/python3", help="a Python with torch 1.13")
    return parser.parse_args()


def main():
    args = parse_arguments()
    os.makedirs(args.folder, exist_ok=True)
    if args.old:
        write_old(args.folder)
        print(json.dumps(writer_versions()))
        return
    import safetensors

    print(
        f"torch {torch.__version__}, safetensors {safetensors.__version__}, Python {sys.version.split()[0]}"
    )
    rows = write_all(args.folder, args.old_python)
    with open(os.path.join(args.folder, "manifest.json"), "w", encoding="utf-8") as out:
        out.write(manifest_text(rows))
    with open(os.path.join(args.folder, "README.md"), "w", encoding="utf-8") as out:
        out.write(readme(rows))
    total = sum(row["bytes"] for row in rows)
    print(f"{len(rows)} files, {total:,} bytes; largest {max(row['bytes'] for row in rows):,}")


if __name__ == "__main__":
    main()
