#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/limits.h"
#include "ckpt/base/result.h"
#include "ckpt/io/sha256.h"
#include "ckpt/model/model.h"

/// The library's front page: one function for each thing that ckpt does, its options and its result as plain values.
///
/// Damage that does not stop the work is a finding in the result; an Error means that there is no result. Nothing is
/// printed. Threads: each job may run beside others.
namespace ckpt {

/// What a job is doing now, for a progress bar: written by the job, read by anyone.
struct CKPT_API Progress {
  std::atomic<const char*> activity{"reading metadata"};
  std::atomic<std::uint64_t> done_bytes{0};
  std::atomic<std::uint64_t> total_bytes{0};  ///< 0 while unknown
};

struct Selection {
  std::vector<std::string> include;  ///< shell patterns; empty = all
  std::vector<std::string> exclude;
};

struct InputOptions {
  Limits limits;
  std::optional<std::string> root;
  Selection selection;
  bool allow_dangerous = false;
  unsigned threads = 0;          ///< 0 = the processors this process may use, at most 16
  Progress* progress = nullptr;  ///< borrowed; may be null
};

/// One thing that stands in the way or is worth telling, of any input.
[[nodiscard]] CKPT_API const Finding* gravest_finding(const std::vector<Finding>& findings);

struct DtypeTotal {
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
};

struct Totals {
  std::uint64_t tensors = 0;
  std::uint64_t parameters = 0;  ///< elements, each alias group once
  std::uint64_t bytes = 0;       ///< written in full
  std::map<std::string, DtypeTotal> by_dtype;
};

/// Totals of the tensors whose indices are given.
[[nodiscard]] CKPT_API Totals totals_of(const Model& model, const std::vector<std::uint32_t>& tensors);

/// Digests by index of Model::tensors; none for tensors without plain data or not chosen.
using TensorDigests = std::vector<std::optional<Digest>>;

/// --- inspect ---------------------------------------------------------------------------------------------------

struct InspectOptions {
  InputOptions input;
  bool with_digests = false;
};

struct InspectResult {
  Model model;                          ///< findings include those of the job
  std::vector<std::uint32_t> selected;  ///< indices of the chosen tensors, in the order of the file
  TensorDigests digests;
  std::optional<Digest> model_digest;  ///< none if a tensor has no digest
};

/// Says what a file is and what it holds. Reads metadata only, unless digests are asked for.
/// Errors: those of open_model; no_match - nothing chosen; with digests those of the reading.
[[nodiscard]] CKPT_API Result<InspectResult> inspect(const std::string& path, const InspectOptions& options);

/// --- verify ----------------------------------------------------------------------------------------------------

/// One expectation of `--expect NAME=VALUE`: `tensors`, `parameters`, `bytes`, `sha256`, `model` or a dtype word.
struct Expectation {
  std::string name;
  std::string value;
};

/// "F16=709" and the like. Errors: usage - another name, or a value that is none of that name.
[[nodiscard]] CKPT_API Result<Expectation> parse_expectation(const std::string& text);

struct VerifyOptions {
  InputOptions input;
  std::vector<Expectation> expectations;  ///< of every input
};

enum class DifferenceKind : std::uint8_t { only_in_a, only_in_b, dtype, shape, data };
inline constexpr std::array kDifferenceKinds = {DifferenceKind::only_in_a, DifferenceKind::only_in_b,
                                                DifferenceKind::dtype, DifferenceKind::shape,
                                                DifferenceKind::data};
[[nodiscard]] CKPT_API std::string_view difference_word(DifferenceKind kind);

struct Difference {
  DifferenceKind kind = DifferenceKind::data;
  std::string name;
  std::string a;  ///< what A has: dtype, shape or digest
  std::string b;
};

/// A name that one side lacks because it is an alias of a name that both have.
struct DroppedAlias {
  std::string name;
  std::string kept;
  bool is_in_a = true;  ///< the side that has it
};

/// One input of verify with all that was found out about it.
struct VerifiedInput {
  Model model;
  std::vector<std::uint32_t> selected;
  TensorDigests digests;
  std::optional<Digest> model_digest;
  std::optional<Digest> file_digest;  ///< only where an expectation asks for it
};

struct CompareResult {
  VerifiedInput a;
  VerifiedInput b;
  std::vector<Difference> differences;
  std::vector<DroppedAlias> dropped;
  std::uint64_t equal = 0;        ///< names with equal dtype, shape and data
  std::vector<Finding> findings;  ///< of both inputs and of the comparison
};

/// Compares two inputs: names, dtypes, shapes, the SHA-256 of each tensor; checks the checksums of archives on the way.
/// Errors: those of open_model, ambiguous_root, no_match; those of the reading.
[[nodiscard]] CKPT_API Result<CompareResult> compare(const std::string& a, const std::string& b,
                                                     const VerifyOptions& options);

/// Checks one input: every checksum, range and rule of its format, a second opinion on its directory. Goes on after the first
/// finding; they are in the model. Digests every chosen tensor on the way.
[[nodiscard]] CKPT_API Result<VerifiedInput> check_input(const std::string& path,
                                                         const VerifyOptions& options);

/// --- convert ---------------------------------------------------------------------------------------------------

enum class SharedPolicy : std::uint8_t { copy, drop, fail };

struct ConvertOptions {
  InputOptions input;
  SharedPolicy shared = SharedPolicy::copy;
  std::vector<std::pair<std::string, std::string>> metadata;  ///< added to or replacing what is there
  bool replace = false;                                       ///< an existing output may be replaced
  bool dry_run = false;                                       ///< plan and check everything, write nothing
  bool sync = true;                                           ///< data reaches the disk before the name does
  bool is_strict = false;  ///< anything left out, and every note, is would_lose
  bool skip_unsupported = false;
};

struct OutputTensorInfo {
  std::uint32_t tensor = kNoIndex;  ///< index into the input's tensors
  std::uint64_t offset = 0;         ///< from the start of the output
};

struct ConvertResult {
  Model model;
  std::string output;
  std::vector<OutputTensorInfo> written;  ///< in the order of the output file
  std::uint64_t output_bytes = 0;
  std::uint64_t gathered = 0;                                ///< tensors that were not row-major
  std::vector<std::pair<std::string, std::string>> dropped;  ///< name, kept name
  std::vector<std::string> skipped;                          ///< unsupported tensors left out on request
  Phase write;  ///< seconds of the whole data phase, bytes and calls of writing
  double sync_seconds = 0;
};

/// Rewrites any input as one Safetensors file, byte-identical to the reference writer. Everything is planned and checked before
/// the first output byte; the archive's checksums are checked while the bytes pass; the output appears complete or not at all.
///
/// `output` empty: `<stem>.safetensors` beside the input; a folder: inside it.
/// Errors: those of open_model; dangerous_import, ambiguous_root, name_collision, would_lose, would_overwrite, unsupported,
///         no_match, limit, no_space; the gravest finding of the input; those of reading and writing.
[[nodiscard]] CKPT_API Result<ConvertResult> convert(const std::string& input, const std::string& output,
                                                     const ConvertOptions& options);

/// --- prefetch --------------------------------------------------------------------------------------------------

struct PrefetchOptions {
  unsigned readers = 16;  ///< 0 to 16; 0 reads nothing
  bool skip_resident = true;
  bool evict = false;                      ///< throw the files out of the page cache instead
  bool query = false;                      ///< only say what is resident
  bool force = false;                      ///< read even what does not fit the free memory
  std::optional<std::uint64_t> max_bytes;  ///< stop after so many bytes, in file order
  Limits limits;
  Progress* progress = nullptr;
};

struct PrefetchedFile {
  std::string path;
  std::string format;                            ///< "safetensors", "torch-zip" or "other"
  std::uint64_t bytes = 0;                       ///< size on disk
  std::optional<std::uint64_t> expected_bytes;   ///< what its own header says it should be
  std::optional<std::uint64_t> resident_before;  ///< bytes; none = unknown
  std::optional<std::uint64_t> resident_after;
  std::uint64_t skipped_bytes = 0;  ///< resident already
  std::uint64_t planned_bytes = 0;
};

struct PrefetchResult {
  std::vector<PrefetchedFile> files;
  std::vector<Finding> findings;  ///< missing and short files, each with both sizes
  unsigned readers = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t reads = 0;
  double seconds = 0;  ///< of the reading
  std::uint64_t page_bytes = 0;
};

/// Reads files into the page cache, in file order, each first held against its own header, directory or index.
/// Errors: usage - more than 16 readers; over_memory; not_found, io … - of a path named by the caller.
[[nodiscard]] CKPT_API Result<PrefetchResult> prefetch(const std::vector<std::string>& paths,
                                                       const PrefetchOptions& options);

}  // namespace ckpt
