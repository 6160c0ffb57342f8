"""What torch and the Safetensors reference writer say about a checkpoint.

The tests hold ckpt against these answers, so nothing here may come from ckpt: values come from torch, names
and roots from the documented rules (a name is the path joined by dots, one wrapper key is entered).
"""

import fnmatch
import hashlib
from collections.abc import Mapping

import torch

WRAPPERS = ("state_dict", "model_state_dict", "model", "module", "params_ema", "params", "net", "ema")
SIDE_KEYS = ("optim*", "*sched*", "scaler", "*rng*", "callbacks", "loops", "hyper_parameters")

SAFETENSORS_WORDS = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "uint16": "U16",
    "int32": "I32",
    "uint32": "U32",
    "int64": "I64",
    "uint64": "U64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float8_e8m0fnu": "F8_E8M0",
    "float4_e2m1fn_x2": "F4",
}
INTEGER_OF_SIZE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
QUANTIZED = (torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4)


class Nameless(Exception):
    """A key on the path is None, a bool or a float: it gives no name."""


def dtype_word(dtype):
    """The Safetensors word, else torch's own."""
    name = str(dtype).removeprefix("torch.")
    return SAFETENSORS_WORDS.get(name, name)


def has_safetensors_form(tensor):
    return is_plain(tensor) and str(tensor.dtype).removeprefix("torch.") in SAFETENSORS_WORDS


def is_plain(tensor):
    return tensor.layout == torch.strided and tensor.dtype not in QUANTIZED and not tensor.is_meta


def is_lazy(tensor):
    """The stored bytes are not the values: they still have to be conjugated or negated."""
    return tensor.is_conj() or tensor.is_neg()


def logical_shape(tensor):
    """As Safetensors counts: two values a byte double the last dimension."""
    shape = list(tensor.shape)
    if dtype_word(tensor.dtype) == "F4" and shape:
        shape[-1] *= 2
    return shape


def as_integers(tensor):
    """The same view over integers of the same width: gathers any dtype, NaN and all, bit by bit."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype == torch.complex128:
        return tensor
    integers = torch.empty(0, dtype=INTEGER_OF_SIZE[tensor.element_size()])
    return integers.set_(tensor.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())


def logical_bytes(tensor):
    """Row-major little-endian bytes."""
    # A clone, because one element may keep any stride through contiguous() and reshape().
    flat = as_integers(tensor).reshape(-1).clone(memory_format=torch.contiguous_format)
    if flat.numel() == 0:
        return b""
    return flat.view(torch.uint8).numpy().tobytes()


def digest(tensor):
    return hashlib.sha256(logical_bytes(tensor)).hexdigest()


def key_text(key):
    """One step of a name, as raw bytes so that lone surrogates and bytes keys survive."""
    if isinstance(key, bool) or key is None or isinstance(key, float):
        raise Nameless
    if isinstance(key, str):
        return key.encode("utf-8", "surrogatepass")
    if isinstance(key, int):
        return str(key).encode()
    if isinstance(key, bytes):
        return key
    if isinstance(key, tuple):
        return b".".join(key_text(part) for part in key)
    raise Nameless


def children(value):
    """(key, child) of what is entered, None for a leaf."""
    if isinstance(value, torch.nn.Module):
        return list(module_children(value))
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return list(enumerate(value))
    return None


def module_children(module):
    yield from ((name, value) for name, value in module._parameters.items() if value is not None)
    for name, value in module._buffers.items():
        if value is not None and name not in module._non_persistent_buffers_set:
            yield name, value
    yield from ((name, value) for name, value in module._modules.items() if value is not None)


def as_tensor(value):
    """A tensor for a tensor or a bare storage, else None."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, torch.UntypedStorage):
        return torch.empty(0, dtype=torch.uint8).set_(value)
    if isinstance(value, torch.storage.TypedStorage):
        empty = torch.empty(0, dtype=value.dtype)
        return empty.set_(value._untyped_storage, 0, (value._size(),), (1,))
    return None


class Leaf:
    """A tensor or another value, with its path."""

    def __init__(self, keys, value):
        self.keys = keys
        self.value = value
        self.tensor = as_tensor(value)

    def name(self, root_depth=0):
        """Raw bytes; raises Nameless."""
        if len(self.keys) == root_depth:
            return b"tensor"
        return b".".join(key_text(key) for key in self.keys[root_depth:])


def leaves(top):
    """All leaves in the order of the file, without recursion."""
    found, pending = [], [((), top)]
    while pending:
        keys, value = pending.pop()
        inner = None if as_tensor(value) is not None else children(value)
        if inner is None:
            found.append(Leaf(keys, value))
            continue
        pending.extend((keys + (key,), child) for key, child in reversed(inner))
    return found


def is_side_key(key):
    return isinstance(key, str) and any(fnmatch.fnmatchcase(key, pattern) for pattern in SIDE_KEYS)


def tensor_bytes(found):
    return sum(leaf.tensor.numel() * leaf.tensor.element_size() for leaf in found)


def candidate_roots(top, found):
    """Wrapper keys that hold a tensor, in the order of the file."""
    if not isinstance(top, Mapping):
        return []
    roots = []
    for key, value in top.items():
        if not (isinstance(key, str) and key in WRAPPERS and isinstance(value, Mapping)):
            continue
        inside = [leaf for leaf in found if leaf.tensor is not None and leaf.keys[0] == key]
        if inside:
            roots.append({"key": key, "tensors": len(inside), "bytes": tensor_bytes(inside)})
    return roots


def choose_root(top, found):
    """("/" or a key, candidates); the key is None where two answers are possible."""
    roots = candidate_roots(top, found)
    if not roots:
        return "/", roots
    if len(roots) > 1:
        return None, roots
    key = roots[0]["key"]
    stray = [leaf for leaf in found if leaf.tensor is not None and leaf.keys[0] != key]
    return (key if all(is_side_key(leaf.keys[0]) for leaf in stray) else None), roots


class Answer:
    """All that torch knows about one checkpoint."""

    def __init__(self, top):
        found = leaves(top)
        self.root, self.roots = choose_root(top, found)
        depth = 1 if self.root not in ("/", None) else 0
        inside = [leaf for leaf in found if depth == 0 or leaf.keys[0] == self.root]
        tensors = [leaf for leaf in inside if leaf.tensor is not None]
        outside = [leaf for leaf in found if leaf.tensor is not None and depth and leaf.keys[0] != self.root]
        self.outside = {"tensors": len(outside), "bytes": tensor_bytes(outside)}
        self.others = [leaf for leaf in found if leaf.tensor is None]
        self.named, self.nameless = [], []
        for leaf in tensors:
            try:
                self.named.append((leaf.name(depth), leaf.tensor))
            except Nameless:
                self.nameless.append(leaf)

    def is_convertible(self):
        names = [name for name, _ in self.named]
        return (
            self.root is not None
            and bool(names)
            and len(set(names)) == len(names)
            and not self.nameless
            and all(is_unicode(name) for name in names)
            and all(has_safetensors_form(tensor) and not is_lazy(tensor) for _, tensor in self.named)
        )

    def state(self):
        """What the converter has to write: every alias and view in full."""
        return {name.decode(): copy_of(tensor) for name, tensor in self.named}

    def alias_groups(self):
        groups = {}
        for name, tensor in self.named:
            if not is_plain(tensor) or tensor.numel() == 0:
                continue
            place = (tensor.untyped_storage().data_ptr(), tensor.storage_offset() * tensor.element_size())
            key = (place, tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()))
            groups.setdefault(key, []).append(name)
        shared = [sorted(names) for names in groups.values() if len(names) > 1]
        return sorted(shared)


def is_unicode(name):
    try:
        name.decode()
        return True
    except UnicodeDecodeError:
        return False


def copy_of(tensor):
    return tensor.detach().resolve_conj().resolve_neg().contiguous().clone()


def describe_tensor(name, tensor):
    row = {"name": name.decode("utf-8", "replace")}
    if not is_unicode(name):
        row["name_hex"] = name.hex()
    row["dtype"] = dtype_word(tensor.dtype)
    row["shape"] = logical_shape(tensor)
    if not is_plain(tensor):
        row["kind"] = "quantized" if tensor.is_quantized else str(tensor.layout).removeprefix("torch.")
        return row
    row["bytes"] = tensor.numel() * tensor.element_size()
    row["stride"] = list(tensor.stride())
    row["is_contiguous"] = tensor.is_contiguous()
    row["storage_offset_bytes"] = tensor.storage_offset() * tensor.element_size()
    row["storage_bytes"] = tensor.untyped_storage().nbytes()
    if is_lazy(tensor):
        row["lazy"] = "conjugate" if tensor.is_conj() else "negative"
    row["sha256"] = digest(tensor)
    return row


def model_digest(answer):
    """SHA-256 over one line a tensor, in byte order of the names."""
    total = hashlib.sha256(b"ckpt-model 1\n")
    for name, tensor in sorted(answer.named, key=lambda pair: pair[0]):
        dims = ",".join(str(dim) for dim in logical_shape(tensor))
        line = f"{json_text(name.decode())}\t{dtype_word(tensor.dtype)}\t{dims}\t{digest(tensor)}\n"
        total.update(line.encode())
    return total.hexdigest()


def json_text(text):
    """A JSON string in which only quotes, back-slashes and bytes below 0x20 are escaped."""
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif char < " ":
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


def reference_bytes(state, metadata=None):
    """The file that the reference writer makes."""
    from safetensors.torch import save

    return save(state, metadata={"format": "pt"} if metadata is None else metadata)


def other_path(leaf):
    parts = []
    for key in leaf.keys:
        try:
            parts.append(key_text(key).decode("utf-8", "replace"))
        except Nameless:
            parts.append(repr(key))
    return ".".join(parts)
