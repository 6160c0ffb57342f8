#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets `safetensors` and `json`. Same bytes every time; no arguments."""

import pathlib
import struct

SEEDS = pathlib.Path(__file__).parent / "seeds"


def entry(name, dtype, shape, begin, end):
    return f'"{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}'


def with_length(text, data=b"", padded=True):
    raw = text.encode() if isinstance(text, str) else text
    if padded:
        raw += b" " * (-len(raw) % 8)
    return struct.pack("<Q", len(raw)) + raw + data


A = entry("a", "F32", "[2]", 0, 8)
B = entry("b", "F32", "[2]", 8, 16)
EMPTY = entry("e", "F32", "[0]", 0, 0)
EMPTY_INSIDE = entry("f", "I8", "[0,5]", 8, 8)
FOUR_BITS = entry("q", "F4", "[2,4]", 0, 4)
SIX_BITS = entry("p", "F6_E2M3", "[4]", 4, 7)
SPACED = '\t\n{"\\u0061" : {"extra":[1,2],"shape":[4],"dtype":"F32",\n"data_offsets":[0,16]}}\r\n'
DATA = bytes(range(16))

SAFETENSORS = {
    "good-two": with_length(f"{{{A},{B}}}", DATA),
    "good-nothing": with_length("{}"),
    "good-metadata": with_length(f'{{"__metadata__":{{"format":"pt"}},{A},{B}}}', DATA),
    "good-empty": with_length(f"{{{EMPTY},{A},{EMPTY_INSIDE},{B}}}", DATA),
    "good-subbyte": with_length(f"{{{FOUR_BITS},{SIX_BITS}}}", DATA[:7]),
    "good-scalar": with_length(f'{{{entry("s", "I64", "[]", 0, 8)}}}', DATA[:8]),
    "good-unpadded": with_length(f"{{{A},{B}}}", DATA, padded=False),
    "good-spaces": with_length(SPACED, DATA),
    "bad-duplicate": with_length(f"{{{A},{A},{B}}}", DATA),
    "bad-overlap": with_length(f'{{{A},{entry("b", "F32", "[3]", 4, 16)}}}', DATA),
    "bad-hole": with_length(f"{{{B}}}", DATA),
    "bad-trailing": with_length(f"{{{A},{B}}}", DATA + b"x"),
    "bad-cut": with_length(f"{{{A},{B}}}", DATA[:5]),
    "bad-length": struct.pack("<Q", 2**64 - 1) + f"{{{A}}}".encode(),
    "bad-reversed": with_length(f'{{{entry("a", "F32", "[2]", 8, 0)}}}', DATA),
    "bad-metadata": with_length('{"__metadata__":{"a":1,"b":null}}'),
    "bad-forms": with_length('{"a":["F32",[4],[0,16]],"b":{"dtype":{"F32":null}},"c":null}', DATA),
    "unsupported-dtype": with_length(f'{{{entry("a", "F33", "[4]", 0, 16)}}}', DATA),
}

JSON = {
    "good-values": b'[null,true,false,0,-0,1.5e3,"x",{},[],{"a":{"b":[1,2]}}]',
    "good-escapes": rb'{"\"\\\/\b\f\n\r\t\u0000\u00e9":"\ud834\udd1e"}',
    "good-duplicates": b'{"a":[{"k":1,"k":2}],"a":3}',
    "good-numbers": b"[18446744073709551615,-9223372036854775808,1e-400,0.1]",
    "good-index": b'{"metadata":{"total_size":16},"weight_map":{"a":"model-00001-of-00001.safetensors"}}\n',
    "good-deep": b"[" * 128 + b"]" * 128,
    "bad-deep": b"[" * 129 + b"]" * 129,
    "bad-surrogate": rb'["\ud800"]',
    "bad-utf8": b'["\xc0\x80"]',
    "bad-mark": b"\xef\xbb\xbf{}",
    "bad-number": b"[18446744073709551616,1e400,01]",
    "bad-comma": b'{"a":1,}',
    "bad-kind": b'{"a":[1,2}',
}


def main():
    for folder, seeds in (("safetensors", SAFETENSORS), ("json", JSON)):
        (SEEDS / folder).mkdir(parents=True, exist_ok=True)
        for name, content in seeds.items():
            (SEEDS / folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
