#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/error.h"
#include "ckpt/io/byte_source.h"
#include "ckpt/tensor/dtype.h"
#include "ckpt/tensor/view.h"

/// What any input looks like once it is opened: tensors with names, and where their bytes lie. Formats meet
/// here; the jobs know nothing of ZIP, pickle or JSON.
namespace ckpt {

namespace zip {
class Archive;
}

inline constexpr std::uint32_t kNoIndex = UINT32_MAX;

enum class Format : std::uint8_t { torch_zip, torchscript, safetensors };

/// "torch-zip", "torchscript", "safetensors".
[[nodiscard]] CKPT_API std::string_view format_word(Format format);

/// Work done in one phase of a job, for --timings and JSON.
struct Phase {
  double seconds = 0;
  std::uint64_t bytes = 0;  ///< read
  std::uint64_t reads = 0;  ///< read calls
};

struct Phases {
  Phase container;  ///< end records, directory, local headers, header length
  Phase metadata;   ///< pickle, small records, JSON header, names
  Phase data;       ///< tensor bytes
};

/// One fact about the container, for people: "records" → "1,330".
struct Fact {
  std::string name;
  std::string value;
};

struct InputFile {
  std::string path;
  Format format = Format::torch_zip;
  std::shared_ptr<const FileSource> source;
  std::shared_ptr<const zip::Archive> archive;  ///< null unless a ZIP
  std::vector<Fact> facts;
  bool is_big_endian = false;
};

/// Bytes with a checksum of their own: a record of an archive.
struct Record {
  std::uint32_t file = 0;
  std::string name;
  std::uint64_t offset = 0;  ///< of its data, from the start of the file; 0 = not readable in place
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
  bool has_checksum = false;
  bool is_stored = true;  ///< false: deflated, it has no place of its own in the file
};

/// Bytes that tensors view: a torch storage, or one tensor's range in a Safetensors file.
struct Storage {
  std::uint32_t file = 0;
  std::uint32_t record = kNoIndex;  ///< index into Model::records; none for Safetensors
  std::string key;                  ///< torch's storage key; empty for Safetensors
  std::uint64_t offset = 0;         ///< from the start of the file; 0 = not readable in place
  std::uint64_t bytes = 0;          ///< that views may use
  std::optional<Dtype> dtype;       ///< of its class; none for untyped
};

/// What kind of value a tensor is. Only plain ones can be digested and converted.
enum class TensorKind : std::uint8_t { plain, meta, quantized, sparse, nested, wrapped, unreadable };

[[nodiscard]] CKPT_API std::string_view tensor_kind_word(TensorKind kind);

struct Tensor {
  std::string name;  ///< relative to the root, raw bytes; not always Unicode
  Dtype dtype = Dtype::unknown;
  TensorKind kind = TensorKind::plain;
  Dims shape;                        ///< logical, outermost first; empty = one element
  View view;                         ///< in its storage
  std::uint32_t storage = kNoIndex;  ///< index into Model::storages
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;  ///< written out row-major
  bool is_contiguous = true;
  bool is_expanded = false;
  bool is_conjugate = false;  ///< lazily conjugated: the bytes are not the values
  bool is_negative = false;   ///< lazily negated
  bool is_nameless = false;   ///< a key on its path is None, a bool or a float
  std::uint32_t alias_of =
      kNoIndex;  ///< the first name, in code-point order, that covers the same range with the
                 ///< same dtype, shape and strides
  std::vector<std::uint32_t>
      overlaps;      ///< tensors whose bytes overlap and that are no aliases (at most 8 listed)
  std::string note;  ///< class of what is not plain, or why it cannot be read

  /// Its bytes are its values and lie in the file as they are: what digests and convert need.
  [[nodiscard]] bool has_plain_data() const {
    return kind == TensorKind::plain && !is_conjugate && !is_negative;
  }
};

/// A value that is no tensor.
struct Other {
  std::string path;
  std::string kind;   ///< "int", "str", "none", "numpy.ndarray", "collections.deque", …
  std::string value;  ///< of scalars and short text, as text
  bool in_root = true;
};

/// A place that could be the model.
struct Root {
  std::string key;  ///< "/" for the top
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
  bool is_wrapper = false;  ///< one of the wrapper keys
};

enum class ImportLevel : std::uint8_t { known_safe, unknown, dangerous };
[[nodiscard]] CKPT_API std::string_view import_level_word(ImportLevel level);

struct ImportedName {
  std::uint32_t file = 0;
  std::string module;
  std::string name;
  ImportLevel level = ImportLevel::unknown;
  std::string reason;
  std::string record;
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
};

struct Model {
  std::vector<InputFile> files;
  std::vector<Record> records;
  std::vector<Storage> storages;
  std::vector<Tensor> tensors;
  std::vector<Other> others;
  std::vector<ImportedName> imports;
  std::vector<Finding> findings;
  std::vector<Root> roots;  ///< candidates, in the order of the file
  std::string root = "/";   ///< what names are relative to
  bool is_root_given = false;
  bool is_root_ambiguous = false;     ///< `root` is "/" because nothing decided
  std::uint64_t outside_tensors = 0;  ///< outside the root, not in `tensors`
  std::uint64_t outside_bytes = 0;
  bool has_metadata = false;
  std::vector<std::pair<std::string, std::string>> metadata;  ///< of Safetensors
  std::uint64_t unused_bytes = 0;                             ///< in storages, that no tensor uses
  std::uint64_t lookups = 0;                                  ///< of records in a directory
  Phases phases;
};

}  // namespace ckpt
