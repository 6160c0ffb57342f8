"""The object graphs behind tests/fixtures. A function returns one object for torch.save; seeds are fixed."""

import copy
import os
from collections import OrderedDict

import torch


def ramp(*shape, dtype=torch.float32, start=0.0):
    """Small distinct values that every float dtype holds exactly."""
    count = 1
    for dim in shape:
        count *= dim
    return (torch.arange(count, dtype=torch.float32) % 61 - 30 + start).div(4).reshape(shape).to(dtype)


def noise(*shape, dtype=torch.float32, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).to(dtype)


def flat():
    return OrderedDict(
        [
            ("embed.weight", noise(12, 8, seed=1)),
            ("layers.0.weight", noise(8, 8, dtype=torch.float16, seed=2)),
            ("layers.0.bias", noise(8, seed=3)),
            ("layers.1.weight", noise(8, 8, dtype=torch.float16, seed=4)),
            ("layers.1.bias", noise(8, seed=5)),
            ("steps", torch.tensor(1234, dtype=torch.int64)),
        ]
    )


def nested():
    return {"state_dict": flat()}


def deep():
    return {
        "encoder": {"layers": [{"weight": ramp(2, 3)}, {"weight": ramp(3, 2), "bias": ramp(2)}]},
        "epoch": 3,
    }


def tied():
    weight = noise(10, 6, seed=6)
    return {"lm_head.weight": weight, "embed.weight": weight, "norm.weight": noise(6, seed=7)}


def slices():
    buffer = noise(24, seed=8)
    return {"q": buffer[0:8], "k": buffer[8:16], "v": buffer[16:24].reshape(2, 4)}


def overlapping():
    buffer = ramp(32)
    return {"all": buffer, "head": buffer[:20], "tail": buffer[12:], "square": buffer[:16].reshape(4, 4)}


def transposed():
    return {"weight": ramp(5, 7).t(), "cube": ramp(2, 3, 4).permute(2, 0, 1), "plain": ramp(5, 7)}


def channels_last():
    weight = noise(6, 4, 3, 3, seed=9).to(memory_format=torch.channels_last)
    volume = noise(2, 3, 2, 2, 2, seed=10).to(memory_format=torch.channels_last_3d)
    return {"conv.weight": weight, "conv3d.weight": volume, "conv.bias": noise(6, seed=11)}


def expanded():
    row = ramp(1, 5)
    return {"rows": row.expand(400, 5), "one": torch.tensor(2.5).expand(3, 4), "row": row}


def strided():
    base = ramp(10, 12)
    return {
        "step": base[2::3, 1::4],
        "column": base[:, 5],
        "diagonal": base.diagonal(),
        "window": base[0].unfold(0, 4, 2),
        "tail": base[9, 7:],
    }


def zero_dim():
    return {
        "f32": torch.tensor(1.5),
        "i64": torch.tensor(-7),
        "bool": torch.tensor(True),
        "view": ramp(9)[4],
    }


def zero_elements():
    return {
        "empty": torch.empty(0),
        "rows": torch.empty(0, 4, dtype=torch.float16),
        "columns": torch.empty(3, 0, 2, dtype=torch.int64),
        "slice": ramp(6)[3:3],
        "full": ramp(2),
    }


def of_bytes(dtype, shape, start=0):
    """A tensor over counted bytes, for dtypes that torch can hardly compute with."""
    count = torch.empty(0, dtype=dtype).element_size()
    for dim in shape:
        count *= dim
    data = (torch.arange(count, dtype=torch.int32) * 37 + start).remainder(251).to(torch.uint8)
    stride, step = [], 1
    for dim in reversed(shape):
        stride.insert(0, step)
        step *= dim
    return torch.empty(0, dtype=dtype).set_(data.untyped_storage(), 0, tuple(shape), tuple(stride))


CLASSIC = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8")
UNTYPED = (
    "uint16",
    "uint32",
    "uint64",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1fn_x2",
)
HOMELESS = ("complex32", "complex128", "bits8", "bits16", "bits1x8", "bits2x4", "bits4x2")


def dtypes():
    state = {name: of_bytes(getattr(torch, name), (3, 4), i) for i, name in enumerate(CLASSIC)}
    state["bool"] = torch.tensor([True, False, True, True])
    state["complex64"] = torch.complex(ramp(2, 3), ramp(2, 3, start=5))
    return state


def untyped_dtypes():
    return {name: of_bytes(getattr(torch, name), (3, 4), i) for i, name in enumerate(UNTYPED)}


def untyped_views():
    words = of_bytes(torch.uint16, (6, 5))
    small = of_bytes(torch.float8_e4m3fn, (4, 6), 9)
    return {"u16.t": words.t(), "u16.tail": words[2:, 1:], "f8.t": small.t(), "f8": small, "f8.again": small}


def homeless_dtypes():
    state = {name: of_bytes(getattr(torch, name), (2, 4), i) for i, name in enumerate(HOMELESS)}
    state["plain"] = ramp(3)
    return state


def quantized():
    scales, zeros = torch.tensor([0.5, 0.25], dtype=torch.float64), torch.tensor([0, 3])
    return {
        "per_tensor": torch.quantize_per_tensor(ramp(3, 4), 0.25, 10, torch.quint8),
        "per_channel": torch.quantize_per_channel(ramp(2, 4), scales, zeros, 0, torch.qint8),
        "wide": torch.quantize_per_tensor(ramp(4), 0.125, 0, torch.qint32),
        "plain": ramp(4),
    }


def sparse():
    dense = torch.zeros(4, 5)
    dense[1, 2], dense[3, 0] = 1.5, -2.0
    return {"coo": dense.to_sparse(), "csr": dense.to_sparse_csr(), "plain": ramp(4)}


def specials():
    """Bits that a conversion through numbers would lose: NaN payloads, negative zero, subnormal numbers."""
    words = torch.tensor([0x7FC00001, 0x7F800001, -0x80000000, 1, 0x7F800000, -0x00800000], dtype=torch.int64)
    halves = torch.tensor([0x7E01, 0x7D01, -0x8000, 1, 0x7C00, -0x0400], dtype=torch.int16)
    return {
        "f32": words.to(torch.int32).view(torch.float32),
        "f16": halves.view(torch.float16),
        "bf16": halves.clone().view(torch.bfloat16),
        "f64": torch.tensor([float("nan"), float("inf"), -0.0, 5e-324], dtype=torch.float64),
    }


def lazy_bits():
    """The two bits that torch keeps beside a complex view and resolves when it reads."""
    complex_ramp = torch.complex(ramp(3), ramp(3, start=2))
    return {"conjugate": complex_ramp.conj(), "negative": complex_ramp.clone().conj().imag, "plain": ramp(3)}


class Net(torch.nn.Module):
    """Looks like a small real model: convolutions and a classifier in F16, normalisation in F32."""

    def __init__(self):
        super().__init__()
        nn = torch.nn
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU())
        self.stage1 = nn.Sequential(nn.Conv2d(16, 24, 3), nn.BatchNorm2d(24), nn.ReLU())
        self.stage2 = nn.Sequential(nn.Conv2d(24, 32, 3), nn.BatchNorm2d(32), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(32, 64), nn.LayerNorm(64), nn.Linear(64, 10))


def net(seed=20):
    torch.manual_seed(seed)
    model = Net()
    for layer in model.modules():
        if isinstance(layer, (torch.nn.Conv2d, torch.nn.Linear)):
            layer.half()
    return model


def demo():
    return {
        "epoch": 11,
        "global_step": 26400,
        "state_dict": net().state_dict(),
        "best_accuracy": 0.9137,
        "classes": ["aeroplane", "bird", "boat", "cat", "dog", "horse", "sheep", "sofa", "train", "tv"],
        "normalize": {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]},
    }


def training():
    torch.manual_seed(30)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
    model(ramp(5, 6)).pow(2).sum().backward()
    optimizer.step()
    scheduler.step()
    return {
        "epoch": 4,
        "global_step": 512,
        "pytorch-lightning_version": "2.4.0",
        "state_dict": model.state_dict(),
        "loops": {"fit_loop": {"state_dict": {}, "epoch_progress": {"total": {"ready": 5, "completed": 4}}}},
        "callbacks": {
            "EarlyStopping": {"wait_count": 0, "best_score": torch.tensor(0.25), "patience": 3},
            "ModelCheckpoint": {"best_model_score": torch.tensor(0.25), "best_model_path": "epoch=3.ckpt"},
        },
        "optimizer_states": [optimizer.state_dict()],
        "lr_schedulers": [scheduler.state_dict()],
        "hyper_parameters": {"lr": 1e-3, "betas": (0.9, 0.999), "amsgrad": False, "tag": None},
        "torch_rng_state": torch.arange(16, dtype=torch.uint8),
    }


def with_metadata():
    torch.manual_seed(31)
    return torch.nn.Sequential(torch.nn.Conv1d(2, 3, 2), torch.nn.BatchNorm1d(3)).state_dict()


def parameters():
    shared = torch.nn.Parameter(ramp(4, 4))
    tagged = torch.nn.Parameter(ramp(3), requires_grad=False)
    tagged.axis = "rows"
    return {"a": shared, "b": torch.nn.Parameter(ramp(2, 3).t()), "tied": shared, "tagged": tagged}


def numpy_scalars():
    import numpy

    return {
        "model": {"weight": ramp(3, 3), "bias": ramp(3)},
        "optimizer": {"lr": numpy.float64(0.001)},
        "best": numpy.float32(0.5),
        "step": numpy.int64(99),
        "history": numpy.arange(6, dtype=numpy.float32).reshape(2, 3),
    }


def names():
    return {
        "a.b.c": ramp(1),
        "with space": ramp(2),
        " leading": ramp(1, start=1),
        "grün.größe": ramp(3),
        "重み.0": ramp(2, start=2),
        "emoji.\U0001f600": ramp(1, start=3),
        'quote"back\\slash/': ramp(2, start=4),
        "tab\tline\nreturn\r": ramp(1, start=5),
        "bell\x07nul\x00delete\x7f": ramp(1, start=6),
        "separator\u2028": ramp(1, start=7),
        "": ramp(1, start=8),
        "layer.10": ramp(1, start=9),
        "layer.9": ramp(1, start=10),
        "Z": ramp(1, start=11),
        "é": ramp(1, start=12),
    }


def odd_keys():
    return {
        7: ramp(2),
        -3: ramp(1),
        b"bytes.key": ramp(3),
        ("block", 2, "weight"): ramp(2, 2),
        "list": [ramp(1), (ramp(2), {"deep": ramp(3)})],
    }


def nameless_keys():
    return {None: ramp(1), True: ramp(2), 1.5: ramp(3), "fine": ramp(4)}


def surrogate_name():
    return {"lone\ud800": ramp(2), "fine": ramp(1)}


def collision():
    return {"a": {"b": ramp(2)}, "a.b": ramp(3)}


def ema_pair():
    model = OrderedDict([("model.conv.weight", noise(4, 3, seed=40)), ("model.conv.bias", noise(4, seed=41))])
    average = OrderedDict(
        ("model_ema." + key[6:].replace(".", ""), value * 0.5) for key, value in model.items()
    )
    return {"state_dict": OrderedDict([*model.items(), *average.items()]), "epoch": 2}


def ambiguous():
    weights = {"weight": noise(3, 3, seed=42), "bias": noise(3, seed=43)}
    return {"model": weights, "ema": {key: value * 0.5 for key, value in weights.items()}, "iteration": 500}


def stray():
    return {"model": {"weight": noise(3, 3, seed=44)}, "model_ema": {"weight": noise(3, 3, seed=45)}}


def bare_tensor():
    return ramp(3, 4).t()


def bare_storage():
    return ramp(5).to(torch.float16).storage()


def storages():
    return {"typed": ramp(4).storage(), "untyped": of_bytes(torch.uint8, (6,)).untyped_storage()}


def module():
    torch.manual_seed(50)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    model.register_buffer("scratch", ramp(2), persistent=False)
    model.register_buffer("scale", ramp(2))
    return model


def memo_heavy():
    """Over a thousand items and over 256 memo entries: several batches, and the long memo opcodes."""
    return {f"part.{i}": torch.full((1,), float(i)) for i in range(80)} | {"numbers": list(range(2100))}


def cyclic():
    inner = {"weight": ramp(2)}
    inner["self"] = inner
    return inner


def old_tied():
    state = tied()
    state["copy.weight"] = copy.deepcopy(state["embed.weight"])
    return state


class Evil:
    """Its pickle names os.system. The argument does nothing, and no test ever loads it."""

    def __reduce__(self):
        return os.system, ("true",)


def dangerous():
    return {"weight": ramp(2, 2), "config": Evil()}
