# The headers that are installed, relative to lib/. They may include only each other, the standard library
# and tl/expected.hpp, and apps/ may include nothing else: scripts/check_layers.py reads this list.
set(CKPT_PUBLIC_HEADERS
    ckpt/base/error.h
    ckpt/base/export.h
    ckpt/base/limits.h
    ckpt/base/result.h
    ckpt/base/text.h
    ckpt/io/byte_source.h
    ckpt/io/platform.h
    ckpt/io/sha256.h
    ckpt/io/span_reader.h
    ckpt/jobs/jobs.h
    ckpt/model/model.h
    ckpt/tensor/dtype.h
    ckpt/tensor/view.h)
