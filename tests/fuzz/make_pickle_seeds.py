#!/usr/bin/env python3
"""Writes the seeds of the pickle fuzz target into seeds/pickle beside this script.

Standard library only. Nothing is ever loaded: Python's pickler writes plain objects in each protocol, and the
rest is put together from the opcode constants of the pickle module.
"""

import argparse
import collections
import datetime
import fractions
import pathlib
import pickle
import struct

SHARED = ["shared", 1.5, None]
OBJECTS = {
    "scalars": [None, True, False, 0, 255, 65536, -1, 2**40, -(2**63), 2**70, -(2**100), 1.5, float("inf")],
    "texts": ["", "w", "\u00e9\u20ac\U0001f600", "\ud800", b"", b"ab\xff", bytearray(b"xy"), "x" * 300],
    "containers": {
        "a": [1, (2,), (3, 4), (5, 6, 7), (8, 9, 10, 11)],
        1: {2, 3},
        "f": frozenset([4]),
        "s": [SHARED, SHARED],
    },
    "objects": [
        collections.OrderedDict(a=1),
        datetime.date(2024, 1, 2),
        fractions.Fraction(1, 3),
        pathlib.PurePosixPath("a/b"),
        collections.deque([1], 3),
        slice(1, 2),
        complex(1, 2),
    ],
}


def cycle():
    items = []
    items.append((items,))
    return items


def text(value):
    data = value.encode()
    return pickle.BINUNICODE + struct.pack("<I", len(data)) + data


def glob(module, name):
    return pickle.GLOBAL + f"{module}\n{name}\n".encode()


def number(value):
    return pickle.BININT1 + bytes([value])


def proto(version):
    return pickle.PROTO + bytes([version])


def tensor(key):
    p = pickle
    storage = [p.MARK, text("storage"), glob("torch", "FloatStorage"), text(key), text("cpu"), number(4)]
    shape = [number(2), number(2), p.TUPLE2, number(2), number(1), p.TUPLE2]
    hooks = [glob("collections", "OrderedDict"), p.EMPTY_TUPLE, p.REDUCE]
    call = [glob("torch._utils", "_rebuild_tensor_v2"), p.MARK, *storage, p.TUPLE, p.BINPERSID, number(0)]
    return b"".join([*call, *shape, p.NEWFALSE, *hooks, p.TUPLE, p.REDUCE])


def p0():
    return proto(2) + pickle.EMPTY_DICT + text("w") + tensor("0") + pickle.SETITEM + pickle.STOP


def legacy():
    p = pickle
    magic = proto(2) + p.LONG1 + b"\x0a" + bytes.fromhex("6cfc9c46f9206aa85019") + p.STOP
    version = proto(2) + p.BININT2 + struct.pack("<H", 1001) + p.STOP
    return magic + version + proto(2) + p.EMPTY_DICT + p.STOP + p0() + proto(2) + p.EMPTY_LIST + p.STOP


def with_metadata():
    p = pickle
    state = [glob("collections", "OrderedDict"), p.EMPTY_TUPLE, p.REDUCE, p.BINPUT, b"\0", p.MARK]
    items = [text("w"), tensor("0"), text("b"), tensor("1"), p.SETITEMS]
    attributes = [p.EMPTY_DICT, text("_metadata"), p.BINGET, b"\0", p.SETITEM, p.BUILD]
    return b"".join([proto(2), *state, *items, *attributes, p.STOP])


def old_forms():
    p = pickle
    numbers = [p.INT, b"01\n", p.LONG, b"5L\n", p.FLOAT, b"-1.5e3\n"]
    texts = [p.STRING, b"'a\\x41\\101\\n'\n", p.UNICODE, b"\\u20ac\xe9\n", p.PERSID, b"key\n"]
    objects = [p.PUT, b"7\n", p.MARK, p.GET, b"7\n", p.INST, b"m\nC\n", p.APPEND]
    return b"".join([p.MARK, *numbers, *texts, p.LIST, *objects, p.STOP])


def new_forms():
    p = pickle
    names = [p.SHORT_BINUNICODE, b"\1m", p.MEMOIZE, p.SHORT_BINUNICODE, b"\3A.b", p.MEMOIZE, p.STACK_GLOBAL]
    call = [p.MEMOIZE, p.EMPTY_TUPLE, p.EMPTY_DICT, p.NEWOBJ_EX, p.MARK, p.NONE, p.ADDITEMS, p.STOP]
    return b"".join([proto(5), p.FRAME, struct.pack("<Q", 12), *names, *call])


def built():
    p = pickle
    load = glob("torch.storage", "_load_from_bytes") + p.BINBYTES
    load += struct.pack("<I", len(legacy())) + legacy()
    attribute = glob("__builtin__", "getattr") + glob("torch._utils", "torch") + text("channels_last")
    encode = glob("_codecs", "encode") + text("a\u00ff") + text("latin1")
    doubling = (p.BINGET + b"\0") * 2 + p.TUPLE2 + p.BINPUT + b"\0"
    far = b"\xff\xff\xff\xff"
    return {
        "p0": p0(),
        "two-pickles": p0() + p0(),
        "metadata": with_metadata(),
        "old-forms": old_forms(),
        "new-forms": new_forms(),
        "load-bytes": proto(3) + load + p.TUPLE1 + p.REDUCE + p.STOP,
        "getattr": proto(2) + attribute + p.TUPLE2 + p.REDUCE + p.STOP,
        "encode": proto(2) + encode + p.TUPLE2 + p.REDUCE + p.STOP,
        "extension": p.EXT1 + b"\1" + p.EXT2 + b"\1\1" + p.EXT4 + b"\1\0\0\0" + p.TUPLE3 + p.STOP,
        "memo-bomb": p.NONE + p.BINPUT + b"\0" + doubling * 30 + p.STOP,
        "computed-name": glob("m", "f") + p.EMPTY_TUPLE + p.REDUCE + p.DUP + p.STACK_GLOBAL + p.STOP,
        "huge-memo-index": p.NONE + p.LONG_BINPUT + far + p.LONG_BINGET + far + p.TUPLE2 + p.STOP,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = pathlib.Path(__file__).parent / "seeds" / "pickle"
    parser.add_argument("--output", type=pathlib.Path, default=default)
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    for name, value in [*OBJECTS.items(), ("cycle", cycle())]:
        for protocol in range(6):
            (output / f"{name}-p{protocol}").write_bytes(pickle.dumps(value, protocol))
    for name, data in built().items():
        (output / name).write_bytes(data)


if __name__ == "__main__":
    main()
