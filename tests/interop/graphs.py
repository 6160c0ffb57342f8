"""Random checkpoints: any dtype, views, sharing, nesting, names, protocols. A seed decides everything."""

import random
from collections import OrderedDict, defaultdict

import torch

import torch_oracle as oracle

CONVERTIBLE = tuple(oracle.SAFETENSORS_WORDS)
HOMELESS = ("complex32", "complex128", "bits8", "bits16")
WORDS = (
    "weight",
    "bias",
    "layers",
    "attn.q",
    "norm",
    "running mean",
    "größe",
    "重み",
    'qu"ote',
    "back\\slash",
    "tab\t",
    "é",
)
EXTRAS = (
    lambda r: r.randrange(-(1 << 40), 1 << 40),
    lambda r: r.random(),
    lambda r: None,
    lambda r: True,
    lambda r: "text " + r.choice(WORDS),
    lambda r: b"bytes\x00\xff",
    lambda r: bytearray(b"more"),
    lambda r: 1 << 70,
    lambda r: complex(1, -2),
    lambda r: {1, 2, 3},
    lambda r: [1, 2.5, "three", [4]],
    lambda r: (1, (2, None)),
    lambda r: {},
    lambda r: torch.Size([2, 3]),
    lambda r: torch.device("cuda", 1),
    lambda r: torch.float16,
    lambda r: defaultdict(list, a=[1]),
)
NUMPY_EXTRAS = (
    lambda numpy: numpy.float64(0.25),
    lambda numpy: numpy.int32(7),
    lambda numpy: numpy.arange(6, dtype=numpy.float32).reshape(2, 3),
    lambda numpy: numpy.asfortranarray(numpy.ones((2, 3))),
)
SIDES = (
    "optimizer",
    "optimizer_states",
    "lr_schedulers",
    "callbacks",
    "loops",
    "scaler",
    "rng_state",
    "hyper_parameters",
)


class Graph:
    """One object for torch.save and the way to save it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.seed = seed
        self.storages = []  # (storage, dtype), to be shared
        self.top = self.make_top()
        self.protocol = self.random.choice((2, 2, 2, 3, 4, 5))
        self.alignment = self.random.choice((64, 64, 64, 1, 16, 4096))
        self.has_checksums = self.random.random() < 0.85
        self.is_named = self.random.random() < 0.7

    def save(self, path):
        from torch.utils.serialization import config

        config.save.storage_alignment = self.alignment
        config.save.compute_crc32 = self.has_checksums
        try:
            if self.is_named:
                torch.save(self.top, path, pickle_protocol=self.protocol)
                return
            with open(path, "wb") as out:
                torch.save(self.top, out, pickle_protocol=self.protocol)
        finally:
            config.save.storage_alignment, config.save.compute_crc32 = 64, True

    # Tensors.

    def new_storage(self):
        names = HOMELESS if self.random.random() < 0.004 else CONVERTIBLE
        dtype = getattr(torch, self.random.choice(names))
        width = torch.empty(0, dtype=dtype).element_size()
        elements = self.random.choice((1, 2, 7, 24, 60, 210, 1200))
        highest = 2 if dtype == torch.bool else 256
        data = bytes(self.random.randrange(highest) for _ in range(elements * width))
        storage = torch.frombuffer(bytearray(data), dtype=torch.uint8).clone().untyped_storage()
        self.storages.append((storage, dtype))
        return storage, dtype

    def tensor(self):
        """A tensor over a new or a shared storage; sharing makes aliases, overlaps, slices."""
        is_shared = self.storages and self.random.random() < 0.3
        storage, dtype = self.random.choice(self.storages) if is_shared else self.new_storage()
        width = torch.empty(0, dtype=dtype).element_size()
        bytes_view = torch.empty(0, dtype=torch.uint8).set_(storage)
        index = torch.empty(bytes_view.numel() // width, dtype=torch.uint8)
        view = self.view_of(index)
        if dtype == torch.float4_e2m1fn_x2 and view.dim() == 0:
            view = index
        made = torch.empty(0, dtype=dtype).set_(storage, view.storage_offset(), view.shape, view.stride())
        if dtype.is_floating_point and width > 1 and self.random.random() < 0.2:
            made = torch.nn.Parameter(made, requires_grad=self.random.random() < 0.5)
        return made

    def view_of(self, flat):
        ways = (
            lambda t: t,
            lambda t: t,
            self.reshaped,
            self.reshaped,
            lambda t: t.reshape(-1, 2 - t.numel() % 2).t(),
            lambda t: self.permuted(self.reshaped(t)),
            lambda t: t[self.random.randrange(t.numel()) :],
            lambda t: t[self.random.randrange(t.numel()) :: self.random.randint(1, 4)],
            lambda t: self.sliced(self.reshaped(t)),
            lambda t: t[self.random.randrange(t.numel())],
            lambda t: t[:1].expand(self.random.randint(1, 5), self.random.randint(1, 6)),
            lambda t: t[:0],
            lambda t: t[:0].reshape(0, 3),
            lambda t: t.unfold(0, min(3, t.numel()), 1),
            lambda t: self.permuted(self.sliced(self.reshaped(t))),
        )
        return self.random.choice(ways)(flat)

    def reshaped(self, flat):
        dims, left = [], flat.numel()
        while left > 1 and len(dims) < 4:
            divisors = [d for d in range(1, left + 1) if left % d == 0]
            dims.append(self.random.choice(divisors))
            left //= dims[-1]
        return flat.reshape(*dims, left)

    def permuted(self, tensor):
        order = list(range(tensor.dim()))
        self.random.shuffle(order)
        return tensor.permute(order)

    def sliced(self, tensor):
        for dim in range(tensor.dim()):
            size = tensor.shape[dim]
            start = self.random.randrange(size) if size else 0
            step = self.random.randint(1, 3)
            tensor = tensor[(slice(None),) * dim + (slice(start, None, step),)]
        return tensor

    # Everything around them.

    def key(self):
        number = self.random.randrange(40)
        kind = self.random.random()
        if kind < 0.06:
            return number
        if kind < 0.09:
            return (self.random.choice(WORDS), number)
        if kind < 0.11:
            return f"raw{number}".encode()
        return f"{self.random.choice(WORDS)}.{number}"

    def extra(self):
        if self.random.random() < 0.15:
            import numpy

            return self.random.choice(NUMPY_EXTRAS)(numpy)
        return self.random.choice(EXTRAS)(self.random)

    def container(self, depth):
        """A dict or a list with tensors, other values and further containers."""
        count = self.random.randint(1, 6)
        if self.random.random() < 0.2:
            return [self.value(depth) for _ in range(count)]
        made = OrderedDict() if self.random.random() < 0.5 else {}
        for _ in range(count):
            made[self.key()] = self.value(depth)
        if isinstance(made, OrderedDict) and self.random.random() < 0.3:
            made._metadata = OrderedDict([("", {"version": 1})])
        return made

    def value(self, depth):
        kind = self.random.random()
        if kind < 0.18:
            return self.extra()
        if kind < 0.4 and depth > 0:
            return self.container(depth - 1)
        return self.tensor()

    def mapping(self, depth):
        made = {f"first.{self.random.randrange(9)}": self.tensor()}
        made.update({self.key(): self.value(depth) for _ in range(self.random.randint(0, 12))})
        return made

    def make_top(self):
        shape = self.random.random()
        if shape < 0.04:
            return self.tensor()
        if shape < 0.4:
            return self.mapping(self.random.randint(0, 3))
        top = {self.random.choice(oracle.WRAPPERS): self.mapping(self.random.randint(0, 3)), "epoch": 3}
        for side in self.random.sample(SIDES, self.random.randint(0, 3)):
            top[side] = self.container(2)
        if shape > 0.95:
            top[self.random.choice(oracle.WRAPPERS + ("stray",))] = self.mapping(1)
        return top
