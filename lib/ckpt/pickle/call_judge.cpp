#include "ckpt/pickle/call_judge.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ckpt/io/byte_reader.h"
#include "ckpt/pickle/machine.h"
#include "ckpt/pickle/text_opcodes.h"

namespace ckpt::pickle {

namespace {

enum class Judged : std::uint8_t { none, get_attribute, encode, load_bytes };

// More calls of getattr in one pickle are not followed one by one. Real files have a few.
constexpr std::size_t kMaxAttributeCalls = 100'000;
constexpr std::size_t kMaxAttributeBytes = 1024;
constexpr unsigned kMaxAttributeChain = 16;
constexpr std::string_view kLoadFault = "loads more pickles from bytes that cannot be looked through";
// A legacy stream: magic number, version, system, object, keys.
constexpr int kLegacyPickles = 5;
constexpr std::string_view kLegacyMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);

bool is_literal(Kind kind) { return kind == Kind::text || kind == Kind::string8; }

/// Looks at every use of the judged names in one arena.
class CallJudge {
 public:
  CallJudge(const Values& values, const Limits& limits, bool follow_bytes, ImportTable& imports)
      : values_(values), limits_(limits), follow_bytes_(follow_bytes), imports_(imports) {}

  void run() {
    if (!names_any_judged()) return;
    for (Ref ref = 0; ref < values_.size(); ++ref) judge_value(ref);
    conclude();
  }

 private:
  struct Use {
    std::uint64_t opcodes = 0;  // that name it and lead to a harmless call
    std::string_view fault;     // why a use is dangerous
  };

  // No judged name is spelt otherwise in Python 2, only the module; the name first, because it is cheap.
  static Judged judged_pair(std::string_view module, std::string_view name) {
    const auto is_in = [&](std::string_view expected) {
      return python3_name(module, name).module == expected;
    };
    if (name == "getattr" && is_in("builtins")) return Judged::get_attribute;
    if (name == "encode" && is_in("_codecs")) return Judged::encode;
    if (name == "_load_from_bytes" && is_in("torch.storage")) return Judged::load_bytes;
    return Judged::none;
  }

  [[nodiscard]] bool names_any_judged() const {
    const auto& list = imports_.list();
    return std::any_of(list.begin(), list.end(), [](const Import& import) {
      return judged_pair(import.module, import.name) != Judged::none;
    });
  }

  [[nodiscard]] Judged judged(Ref ref) const {
    if (values_.kind(ref) != Kind::global) return Judged::none;
    return judged_pair(values_.module(ref), values_.name(ref));
  }

  Use& use_of(Judged name) { return uses_[static_cast<std::size_t>(name)]; }
  void blame(Judged name, std::string_view fault) { use_of(name).fault = fault; }

  void judge_value(Ref ref) {
    look_for_strays(values_.states(ref));
    switch (values_.kind(ref)) {
      case Kind::tuple:
      case Kind::list:
      case Kind::dict:
      case Kind::set:
      case Kind::frozen_set: look_for_strays(values_.items(ref)); break;
      case Kind::persistent: look_for_stray(values_.persistent_id(ref)); break;
      case Kind::call: judge_call(ref); break;
      default: break;
    }
  }

  // A judged function that is handed around may be called by others with any arguments.
  void look_for_stray(Ref ref) {
    if (const Judged name = judged(ref); name != Judged::none) blame(name, "is handed on instead of called");
  }
  void look_for_strays(std::span<const Ref> refs) {
    for (const Ref ref : refs) look_for_stray(ref);
  }

  void judge_call(Ref call) {
    look_for_strays(values_.items(call));
    look_for_strays(values_.pairs(call));
    look_for_stray(values_.arguments(call));
    if (values_.keywords(call) != kNoRef) look_for_stray(values_.keywords(call));
    const Judged name = judged(values_.callee(call));
    if (name == Judged::none) return;
    if (values_.call_kind(call) != CallKind::reduce) {
      blame(name, "is made an object of");
      return;
    }
    const std::string_view fault = fault_of(name, call);
    if (!fault.empty()) {
      blame(name, fault);
    } else if (seen_.insert(values_.callee(call)).second) {
      ++use_of(name).opcodes;
    }
  }

  [[nodiscard]] std::span<const Ref> argument_list(Ref call) const {
    const Ref arguments = values_.arguments(call);
    if (values_.kind(arguments) != Kind::tuple) return {};
    return values_.items(arguments);
  }

  std::string_view fault_of(Judged name, Ref call) {
    switch (name) {
      case Judged::get_attribute: return attribute_fault(call);
      case Judged::encode: return encode_fault(argument_list(call));
      case Judged::load_bytes: return load_fault(argument_list(call));
      case Judged::none: break;
    }
    return {};
  }

  [[nodiscard]] std::string_view encode_fault(std::span<const Ref> arguments) const {
    constexpr std::array<std::string_view, 4> kPlainCodecs = {"latin1", "latin-1", "ascii", "utf-8"};
    constexpr std::string_view kFault = "encodes with a codec other than latin-1, ascii and utf-8";
    if (arguments.size() == 1) return {};
    if (arguments.size() != 2 || !is_literal(values_.kind(arguments[1]))) return kFault;
    const std::string_view codec = values_.text(arguments[1]);
    const bool is_plain = std::find(kPlainCodecs.begin(), kPlainCodecs.end(), codec) != kPlainCodecs.end();
    return is_plain ? std::string_view{} : kFault;
  }

  std::string_view attribute_fault(Ref call) {
    constexpr std::string_view kFault = "looks attributes up by a computed name";
    if (++attributes_ > kMaxAttributeCalls) return "looks up too many attributes to follow";
    std::string dotted;
    // Arguments are made before the call that takes them, so that the chain ends.
    for (unsigned i = 0; i < kMaxAttributeChain; ++i) {
      const std::span<const Ref> arguments = argument_list(call);
      if (arguments.size() != 2 || !is_literal(values_.kind(arguments[1]))) return kFault;
      const std::string_view attribute = values_.text(arguments[1]);
      if (dotted.size() + attribute.size() > kMaxAttributeBytes) return kFault;
      dotted.insert(0, dotted.empty() ? std::string(attribute) : std::string(attribute).append("."));
      const Ref base = arguments[0];
      if (values_.kind(base) == Kind::global) return add_attribute(base, dotted);
      const bool is_chain = values_.kind(base) == Kind::call && values_.call_kind(base) == CallKind::reduce &&
                            judged(values_.callee(base)) == Judged::get_attribute;
      if (!is_chain) return kFault;
      call = base;
    }
    return kFault;
  }

  std::string_view add_attribute(Ref base, const std::string& attribute) {
    std::string name(values_.name(base));
    name.append(".").append(attribute);
    const std::string_view module = values_.module(base);
    if (name.size() > kMaxAttributeBytes) return "looks attributes up in an overlong name";
    if (imports_.find(module, name) != nullptr) return {};
    const Import* const source = imports_.find(module, values_.name(base));
    imports_.add(module, name, source != nullptr ? source->offset : 0);
    return {};
  }

  std::string_view load_fault(std::span<const Ref> arguments) {
    if (!follow_bytes_ || arguments.size() != 1) return kLoadFault;
    const Ref source = bytes_source(arguments[0]);
    if (source == kNoRef) return kLoadFault;
    // Each source once: many calls may share one, and looking through it again would be quadratic.
    const auto [known, is_new] = loads_.try_emplace(source, kLoadFault);
    if (is_new) known->second = source_fault(source);
    return known->second;
  }

  // Below protocol 3 bytes are written as a call: _codecs.encode(text, "latin1").
  [[nodiscard]] Ref bytes_source(Ref ref) const {
    if (values_.kind(ref) == Kind::bytes || values_.kind(ref) == Kind::string8) return ref;
    if (values_.kind(ref) != Kind::call || judged(values_.callee(ref)) != Judged::encode) return kNoRef;
    const std::span<const Ref> arguments = argument_list(ref);
    if (arguments.size() != 2 || !encode_fault(arguments).empty()) return kNoRef;
    return values_.kind(arguments[0]) == Kind::text ? arguments[0] : kNoRef;
  }

  std::string_view source_fault(Ref source) {
    if (values_.kind(source) != Kind::text) return stream_fault(values_.text(source));
    const std::optional<std::string> bytes = encode_latin1(values_.text(source));
    return bytes ? stream_fault(*bytes) : kLoadFault;
  }

  std::string_view stream_fault(std::string_view stream) {
    const std::uint64_t offset = load_offset();
    bool is_harmless = true;
    for (int i = 0; i < kLegacyPickles; ++i) {
      Machine machine(as_bytes(stream), limits_, {.whole_input = false, .follow_bytes = false});
      const Status status = machine.run();
      for (Import import : machine.imports()) {
        is_harmless = is_harmless && import.verdict.level != ImportClass::dangerous;
        import.offset = offset;
        imports_.include(std::move(import));
      }
      if (!status) return kLoadFault;
      if (i == 0 && !is_legacy_magic(machine)) break;
      stream.remove_prefix(machine.end());
    }
    return is_harmless ? std::string_view{} : "loads a pickle with dangerous imports";
  }

  static bool is_legacy_magic(const Machine& machine) {
    return machine.values().kind(machine.root()) == Kind::big_integer &&
           machine.values().text(machine.root()) == kLegacyMagic;
  }

  [[nodiscard]] std::uint64_t load_offset() const {
    for (const Import& import : imports_.list()) {
      if (judged_pair(import.module, import.name) == Judged::load_bytes) return import.offset;
    }
    return 0;
  }

  // Both spellings of a name (`__builtin__` and `builtins`) stand for one function.
  void conclude() {
    std::array<std::uint64_t, 4> named{};
    for (const Import& import : imports_.list()) {
      named[static_cast<std::size_t>(judged_pair(import.module, import.name))] += import.count;
    }
    for (std::size_t i = 0; i < imports_.list().size(); ++i) {
      const Import& import = imports_.list()[i];
      const Judged name = judged_pair(import.module, import.name);
      if (name != Judged::none) conclude(import, use_of(name), named[static_cast<std::size_t>(name)]);
    }
  }

  void conclude(const Import& import, const Use& use, std::uint64_t named) {
    ImportVerdict& verdict = imports_.find(import.module, import.name)->verdict;
    if (!use.fault.empty()) {
      verdict = {ImportClass::dangerous, std::string(use.fault)};
    } else if (use.opcodes == named && verdict.level == ImportClass::dangerous) {
      verdict = {ImportClass::unknown, {}};
    }
  }

  const Values& values_;
  const Limits& limits_;
  bool follow_bytes_;
  ImportTable& imports_;
  std::array<Use, 4> uses_;
  std::unordered_set<Ref> seen_;  // globals that were counted
  std::unordered_map<Ref, std::string_view> loads_;
  std::size_t attributes_ = 0;
};

}  // namespace

void judge_calls_in(const Values& values, const Limits& limits, bool follow_bytes, ImportTable& imports) {
  CallJudge(values, limits, follow_bytes, imports).run();
}

void judge_calls(const Values& values, bool in_torchscript, std::vector<Import>& imports) {
  ImportTable table(in_torchscript, std::move(imports));
  judge_calls_in(values, Limits{}, true, table);
  imports = table.take_list();
}

}  // namespace ckpt::pickle
