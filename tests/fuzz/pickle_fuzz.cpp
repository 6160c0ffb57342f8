#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "ckpt/base/limits.h"
#include "ckpt/pickle/machine.h"

/// Any bytes as a pickle: the machine must end, stay within its limits, and leave values that can be walked.

namespace {

using ckpt::pickle::Kind;
using ckpt::pickle::Ref;
using ckpt::pickle::Values;

void require(bool holds) {
  if (!holds) std::abort();
}

// Every reference must point at a value: the sum keeps the reads from being optimised away.
std::uint64_t touch(const Values& values, std::span<const Ref> refs) {
  std::uint64_t sum = 0;
  for (const Ref ref : refs) {
    require(ref < values.size());
    sum += static_cast<std::uint64_t>(values.kind(ref));
  }
  return sum;
}

std::uint64_t touch_text(std::string_view text) {
  std::uint64_t sum = 0;
  for (const char c : text) sum += static_cast<unsigned char>(c);
  return sum;
}

std::uint64_t touch_call(const Values& values, Ref call) {
  const Ref parts[] = {values.callee(call), values.arguments(call)};
  const Ref keywords = values.keywords(call);
  require(keywords == ckpt::pickle::kNoRef || keywords < values.size());
  require(values.pairs(call).size() % 2 == 0);
  return touch(values, parts) + touch(values, values.items(call)) + touch(values, values.pairs(call));
}

std::uint64_t touch(const Values& values, Ref ref) {
  const std::uint64_t states = touch(values, values.states(ref));
  switch (values.kind(ref)) {
    case Kind::none: return states;
    case Kind::boolean: return states + (values.boolean(ref) ? 1 : 0);
    case Kind::integer: return states + static_cast<std::uint64_t>(values.integer(ref));
    case Kind::real: return states + (values.real(ref) > 0 ? 1 : 0);
    case Kind::big_integer:
    case Kind::text:
    case Kind::string8:
    case Kind::bytes:
    case Kind::byte_array: return states + touch_text(values.text(ref));
    case Kind::dict: require(values.items(ref).size() % 2 == 0); [[fallthrough]];
    case Kind::tuple:
    case Kind::list:
    case Kind::set:
    case Kind::frozen_set: return states + touch(values, values.items(ref));
    case Kind::global: return states + touch_text(values.module(ref)) + touch_text(values.name(ref));
    case Kind::call: return states + touch_call(values, ref);
    case Kind::persistent: require(values.persistent_id(ref) < values.size()); return states;
  }
  std::abort();
}

std::uint64_t run(std::span<const std::byte> bytes, bool whole_input) {
  ckpt::Limits limits;
  limits.pickle_bytes = 1U << 16U;
  limits.pickle_opcodes = 20'000;
  limits.value_bytes = 1U << 20U;
  limits.nesting = 100;
  ckpt::pickle::Machine machine(bytes, limits, {.base_offset = 7, .whole_input = whole_input});
  const ckpt::Status status = machine.run();
  const Values& values = machine.values();
  if (status) {
    require(machine.root() < values.size());
    require(machine.end() <= bytes.size());
  } else {
    require(!status.error().message.empty());
  }
  std::uint64_t sum = 0;
  for (Ref ref = 0; ref < values.size(); ++ref) sum += touch(values, ref);
  for (const auto& import : machine.imports()) sum += import.count + import.offset;
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  volatile std::uint64_t sum = run(bytes, true);
  sum = run(bytes, false);
  static_cast<void>(sum);
  return 0;
}
