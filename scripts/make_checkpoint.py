#!/usr/bin/env python3
"""Writes large checkpoints with torch, for benchmarks.

  make_checkpoint.py --flat OUT --nested OUT --reference OUT   the SD-Turbo shape (2.6 GB each)
  make_checkpoint.py --records 100000 OUT                      many tensors of 64 bytes, one storage each

The content is random and does not compress, no two tensors are equal, and two runs write equal bytes.
Any number of outputs can be named in one run. --sparse OUT writes a file of more than 4 GiB that takes
next to no disk: one storage of zeros as a hole behind a small real one.
"""

import argparse
import os
import struct
import sys
import zipfile

try:
    import torch
except ImportError:
    sys.exit("make_checkpoint.py: torch cannot be imported")

import sd_turbo_shapes

SEED = 20260
DTYPES = {"F16": torch.float16, "F32": torch.float32}
WIDTH = {"F16": 2, "F32": 4}
# Random once, then cut at a different place for each tensor: quicker than 2.6 GB of fresh numbers, and as
# incompressible for anything with a window shorter than the block.
BLOCK_BYTES = 64 << 20


class Content:
    """Hands out byte ranges of one random block, each from another start, so that no two are equal."""

    def __init__(self):
        generator = torch.Generator().manual_seed(SEED)
        self.block = torch.randint(0, 256, (BLOCK_BYTES,), dtype=torch.uint8, generator=generator)
        self.start = 0

    def take(self, count):
        out = torch.empty(count, dtype=torch.uint8)
        filled, place = 0, self.start
        while filled < count:
            step = min(count - filled, BLOCK_BYTES - place)
            out[filled : filled + step] = self.block[place : place + step]
            filled, place = filled + step, 0
        self.start = (self.start + 4 * 999_983) % BLOCK_BYTES
        return out


def sd_turbo_state():
    content = Content()
    state = {}
    for name, shape, word in sd_turbo_shapes.sd_turbo():
        elements = 1
        for dim in shape:
            elements *= dim
        state[name] = content.take(elements * WIDTH[word]).view(DTYPES[word]).reshape(shape)
    return state


def write_models(args):
    state = sd_turbo_state()
    if args.flat:
        torch.save(state, args.flat, pickle_protocol=2)
        tell(args.flat, state)
    if args.nested:
        torch.save({"state_dict": state}, args.nested, pickle_protocol=2)
        tell(args.nested, state)
    if args.reference:
        write_reference(state, args.reference)


def write_reference(state, path):
    try:
        from safetensors.torch import save_file
    except ImportError:
        sys.exit("make_checkpoint.py: safetensors cannot be imported")
    save_file(state, path, metadata={"format": "pt"})
    tell(path, state)


def write_records(count, path):
    block = torch.randn(count, 16, generator=torch.Generator().manual_seed(SEED))
    state = {f"layers.{i // 8}.part{i % 8}.weight": block[i].clone() for i in range(count)}
    torch.save(state, path, pickle_protocol=2)
    tell(path, state)


def write_sparse(path, size):
    """Lets torch lay out a file with a large hole, then fills in the two small storages around it.

    torch writes every header and no storage byte under `skip_data`, and records no checksum for storages.
    """
    small = torch.arange(16, dtype=torch.float32)
    late = torch.ones(16, dtype=torch.float32)
    state = {"small": small, "hole": torch.empty(size // 4, dtype=torch.float32), "late": late}
    with torch.serialization.skip_data():
        torch.save(state, path)
    with zipfile.ZipFile(path) as archive:
        entries = {info.filename.split("/", 1)[1]: info for info in archive.infolist()}
    with open(path, "r+b") as out:
        fill_record(out, entries["data/0"], small)
        fill_record(out, entries["data/2"], late)
    tell(path, state)


def fill_record(out, entry, tensor):
    """Writes the bytes of `tensor` where the local header of `entry` says that its data starts."""
    out.seek(entry.header_offset + 26)
    name_bytes, extra_bytes = struct.unpack("<HH", out.read(4))
    out.seek(entry.header_offset + 30 + name_bytes + extra_bytes)
    out.write(struct.pack(f"<{tensor.numel()}f", *tensor.tolist()))


def tell(path, state):
    words = {}
    for tensor in state.values():
        words[str(tensor.dtype)] = words.get(str(tensor.dtype), 0) + 1
    counts = ", ".join(f"{count} {word.removeprefix('torch.')}" for word, count in sorted(words.items()))
    status = os.stat(path)
    on_disk = status.st_blocks * 512
    print(f"{path}: {status.st_size:,} bytes ({on_disk:,} on disk), {len(state):,} tensors ({counts})")


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--flat", metavar="OUT", help="the SD-Turbo shape, saved flat")
    parser.add_argument("--nested", metavar="OUT", help="the same tensors under state_dict")
    parser.add_argument(
        "--reference", metavar="OUT", help="the same tensors by the Safetensors reference writer"
    )
    parser.add_argument("--records", nargs=2, metavar=("N", "OUT"), help="N tensors of 16 F32")
    parser.add_argument("--sparse", metavar="OUT", help="a file with a hole of 5 GiB")
    parser.add_argument("--sparse-bytes", type=int, default=5 << 30, metavar="BYTES", help="size of the hole")
    args = parser.parse_args()
    if not (args.flat or args.nested or args.reference or args.records or args.sparse):
        parser.error("name at least one output")
    return args


def main():
    args = parse_arguments()
    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}")
    if args.flat or args.nested or args.reference:
        write_models(args)
    if args.records:
        write_records(int(args.records[0]), args.records[1])
    if args.sparse:
        write_sparse(args.sparse, args.sparse_bytes)


if __name__ == "__main__":
    main()
