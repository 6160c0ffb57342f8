"""Names and shapes of an SD-Turbo checkpoint: a U-Net, an image autoencoder and a text encoder.

1,323 tensors, 709 of them F16 and 614 F32. The shapes follow the published architectures, so the sizes are
those of a real file: 2,612,796,864 bytes as Safetensors, less than 2 KiB off.
"""

UNET = "model.diffusion_model"
VAE = "first_stage_model"
TEXT = "cond_stage_model.transformer.text_model"

TENSORS = 1323
F16_TENSORS = 709
F32_TENSORS = 614


class Shapes:
    """Collects (name, shape) pairs."""

    def __init__(self):
        self.items = []

    def add(self, name, *shape):
        self.items.append((name, shape))

    def affine(self, name, *shape):
        """A weight and the bias of its first dimension."""
        self.add(f"{name}.weight", *shape)
        self.add(f"{name}.bias", shape[0])


def unet_res(out, name, channels, width):
    out.affine(f"{name}.in_layers.0", channels)
    out.affine(f"{name}.in_layers.2", width, channels, 3, 3)
    out.affine(f"{name}.emb_layers.1", width, 1280)
    out.affine(f"{name}.out_layers.0", width)
    out.affine(f"{name}.out_layers.3", width, width, 3, 3)
    if channels != width:
        out.affine(f"{name}.skip_connection", width, channels, 1, 1)


def unet_transformer(out, name, width, context=1024):
    out.affine(f"{name}.norm", width)
    out.affine(f"{name}.proj_in", width, width)
    block = f"{name}.transformer_blocks.0"
    for attention, source in (("attn1", width), ("attn2", context)):
        out.add(f"{block}.{attention}.to_q.weight", width, width)
        out.add(f"{block}.{attention}.to_k.weight", width, source)
        out.add(f"{block}.{attention}.to_v.weight", width, source)
        out.affine(f"{block}.{attention}.to_out.0", width, width)
    out.affine(f"{block}.ff.net.0.proj", 8 * width, width)
    out.affine(f"{block}.ff.net.2", width, 4 * width)
    for i in (1, 2, 3):
        out.affine(f"{block}.norm{i}", width)
    out.affine(f"{name}.proj_out", width, width)


def unet_down(out):
    """The input blocks; returns the widths that the output blocks take from them."""
    out.affine(f"{UNET}.input_blocks.0.0", 320, 4, 3, 3)
    skips, channels, index = [320], 320, 1
    for level, width in enumerate((320, 640, 1280, 1280)):
        for _ in range(2):
            unet_res(out, f"{UNET}.input_blocks.{index}.0", channels, width)
            if level < 3:
                unet_transformer(out, f"{UNET}.input_blocks.{index}.1", width)
            channels, index = width, index + 1
            skips.append(width)
        if level < 3:
            out.affine(f"{UNET}.input_blocks.{index}.0.op", width, width, 3, 3)
            index += 1
            skips.append(width)
    return skips


def unet_up(out, skips):
    channels, index = 1280, 0
    for level, width in reversed(list(enumerate((320, 640, 1280, 1280)))):
        for i in range(3):
            name = f"{UNET}.output_blocks.{index}"
            unet_res(out, f"{name}.0", channels + skips.pop(), width)
            if level < 3:
                unet_transformer(out, f"{name}.1", width)
            if level > 0 and i == 2:
                out.affine(f"{name}.{2 if level < 3 else 1}.conv", width, width, 3, 3)
            channels, index = width, index + 1


def unet(out):
    out.affine(f"{UNET}.time_embed.0", 1280, 320)
    out.affine(f"{UNET}.time_embed.2", 1280, 1280)
    skips = unet_down(out)
    unet_res(out, f"{UNET}.middle_block.0", 1280, 1280)
    unet_transformer(out, f"{UNET}.middle_block.1", 1280)
    unet_res(out, f"{UNET}.middle_block.2", 1280, 1280)
    unet_up(out, skips)
    out.affine(f"{UNET}.out.0", 320)
    out.affine(f"{UNET}.out.2", 4, 320, 3, 3)


def vae_res(out, name, channels, width):
    out.affine(f"{name}.norm1", channels)
    out.affine(f"{name}.conv1", width, channels, 3, 3)
    out.affine(f"{name}.norm2", width)
    out.affine(f"{name}.conv2", width, width, 3, 3)
    if channels != width:
        out.affine(f"{name}.nin_shortcut", width, channels, 1, 1)


def vae_middle(out, name):
    vae_res(out, f"{name}.mid.block_1", 512, 512)
    out.affine(f"{name}.mid.attn_1.norm", 512)
    for part in ("q", "k", "v", "proj_out"):
        out.affine(f"{name}.mid.attn_1.{part}", 512, 512, 1, 1)
    vae_res(out, f"{name}.mid.block_2", 512, 512)


def vae_encoder(out, name):
    out.affine(f"{name}.conv_in", 128, 3, 3, 3)
    channels = 128
    for level, width in enumerate((128, 256, 512, 512)):
        for i in range(2):
            vae_res(out, f"{name}.down.{level}.block.{i}", channels, width)
            channels = width
        if level < 3:
            out.affine(f"{name}.down.{level}.downsample.conv", width, width, 3, 3)
    vae_middle(out, name)
    out.affine(f"{name}.norm_out", 512)
    out.affine(f"{name}.conv_out", 8, 512, 3, 3)


def vae_decoder(out, name):
    out.affine(f"{name}.conv_in", 512, 4, 3, 3)
    vae_middle(out, name)
    channels = 512
    for level, width in reversed(list(enumerate((128, 256, 512, 512)))):
        for i in range(3):
            vae_res(out, f"{name}.up.{level}.block.{i}", channels, width)
            channels = width
        if level > 0:
            out.affine(f"{name}.up.{level}.upsample.conv", width, width, 3, 3)
    out.affine(f"{name}.norm_out", 128)
    out.affine(f"{name}.conv_out", 3, 128, 3, 3)


def vae(out):
    vae_encoder(out, f"{VAE}.encoder")
    vae_decoder(out, f"{VAE}.decoder")
    out.affine(f"{VAE}.quant_conv", 8, 8, 1, 1)
    out.affine(f"{VAE}.post_quant_conv", 4, 4, 1, 1)


def text_encoder(out, layers=24, width=1024):
    out.add(f"{TEXT}.embeddings.token_embedding.weight", 49408, width)
    out.add(f"{TEXT}.embeddings.position_embedding.weight", 77, width)
    for i in range(layers):
        layer = f"{TEXT}.encoder.layers.{i}"
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            out.affine(f"{layer}.self_attn.{part}", width, width)
        out.affine(f"{layer}.layer_norm1", width)
        out.affine(f"{layer}.layer_norm2", width)
        out.affine(f"{layer}.mlp.fc1", 4 * width, width)
        out.affine(f"{layer}.mlp.fc2", width, 4 * width)
    out.affine(f"{TEXT}.final_layer_norm", width)
    out.add("cond_stage_model.transformer.text_projection", width, width)


def f32_names():
    """Matrices and text-encoder vectors that stay in single precision, as in mixed-precision files."""
    layers = [f"{TEXT}.encoder.layers.{i}" for i in range(14)]
    return {
        f"{UNET}.time_embed.0.weight",
        f"{UNET}.time_embed.2.weight",
        f"{VAE}.quant_conv.weight",
        f"{TEXT}.embeddings.position_embedding.weight",
        *(f"{layer}.mlp.fc1.bias" for layer in layers),
        *(f"{layer}.layer_norm1.{part}" for layer in layers[:8] for part in ("weight", "bias")),
    }


def sd_turbo():
    """All tensors as (name, shape, dtype word)."""
    out = Shapes()
    unet(out)
    vae(out)
    text_encoder(out)
    kept = f32_names()
    rows = []
    for name, shape in out.items:
        single = name in kept or (len(shape) == 1 and not name.startswith("cond_stage_model"))
        rows.append((name, shape, "F32" if single else "F16"))
    f16 = sum(word == "F16" for _, _, word in rows)
    if (f16, len(rows) - f16) != (F16_TENSORS, F32_TENSORS):
        raise ValueError(f"{f16} F16 and {len(rows) - f16} F32 tensors")
    return rows
