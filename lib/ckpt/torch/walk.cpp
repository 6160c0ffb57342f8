#include "ckpt/torch/walk.h"

#include <algorithm>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "ckpt/torch/kinds.h"
#include "ckpt/torch/module.h"
#include "ckpt/torch/rebuild.h"

namespace ckpt::torch {

using pickle::Kind;
using pickle::kNoRef;
using pickle::Ref;
using pickle::Values;

namespace {

enum class Mark : std::uint8_t { fresh, on_path, holds_tensor, holds_none };

/// A container that is being entered.
struct Frame {
  Ref ref = kNoRef;
  std::size_t first_child = 0;  // into Walker::children_
  std::size_t next_child = 0;
  std::size_t path_bytes = 0;  // of the container's own path
  std::size_t tensors_before = 0;
  bool was_nameless = false;
};

class Walker {
 public:
  Walker(const Values& values, const std::optional<std::string>& root, const Limits& limits)
      : values_(values), limits_(limits), marks_(values.size(), Mark::fresh) {
    if (root && *root != "/") root_ = *root;
  }

  Result<Walk> run(Ref top) {
    out_.is_root_found = root_.empty();
    CKPT_TRY(visit(top));
    while (!stack_.empty()) CKPT_TRY(step());
    return std::move(out_);
  }

 private:
  /// A value was reached under `path_`: a leaf is noted, a container entered.
  Status visit(Ref ref) {
    if (++visits_ > kVisitsPerValue * values_.size() + kFreeVisits) {
      return fail(ErrorCode::limit, fmt::format("the object graph has more than {} paths", visits_ - 1));
    }
    if (path_.size() > limits_.name_bytes) {
      return fail(ErrorCode::limit, fmt::format("a name has more than {} bytes (name length): {}",
                                                limits_.name_bytes, in_quotes(path_, 64)));
    }
    if (is_rebuild_call(values_, ref) || values_.kind(ref) == Kind::persistent) {
      out_.tensors.push_back(leaf(ref));
      return {};
    }
    const std::size_t first = children_.size();
    if (!push_children(ref)) {
      out_.others.push_back(leaf(ref));
      return {};
    }
    return enter(ref, first);
  }

  Status enter(Ref ref, std::size_t first) {
    if (marks_[ref] == Mark::on_path || marks_[ref] == Mark::holds_none) {
      children_.resize(first);
      return {};
    }
    if (stack_.size() >= limits_.nesting) {
      return fail(ErrorCode::limit,
                  fmt::format("values are nested more than {} deep (nesting)", limits_.nesting));
    }
    marks_[ref] = Mark::on_path;
    stack_.push_back({ref, first, first, path_.size(), out_.tensors.size(), is_nameless_});
    if (!root_.empty() && path_ == root_) {
      out_.is_root_found = true;
      root_depth_ = stack_.size();
    }
    return {};
  }

  Status step() {
    Frame& frame = stack_.back();
    path_.resize(frame.path_bytes);
    is_nameless_ = frame.was_nameless;
    if (frame.next_child == children_.size()) {
      leave(frame);
      return {};
    }
    const Child child = children_[frame.next_child++];
    append_key(child);
    const std::size_t tensors_before = out_.tensors.size();
    const bool is_top_mapping = stack_.size() == 1 && is_mapping(values_, child.value);
    if (stack_.size() == 1) {
      top_bytes_ = path_.size();
      finish_top();
      if (is_top_mapping) out_.top.push_back({path_, 0});
      top_tensors_before_ = tensors_before;
      is_top_open_ = is_top_mapping;
    }
    return visit(child.value);
  }

  void leave(const Frame& frame) {
    marks_[frame.ref] = out_.tensors.size() > frame.tensors_before ? Mark::holds_tensor : Mark::holds_none;
    children_.resize(frame.first_child);
    if (stack_.size() == root_depth_) root_depth_ = 0;
    if (stack_.size() == 1) finish_top();
    stack_.pop_back();
  }

  /// Counts the tensors of the top-level mapping that was walked last.
  void finish_top() {
    if (is_top_open_) out_.top.back().tensors = out_.tensors.size() - top_tensors_before_;
    is_top_open_ = false;
  }

  [[nodiscard]] Leaf leaf(Ref ref) const {
    Leaf leaf;
    leaf.path = path_;
    leaf.ref = ref;
    leaf.top_bytes = static_cast<std::uint32_t>(std::min(top_bytes_, path_.size()));
    if (root_depth_ != 0) leaf.root_bytes = static_cast<std::uint32_t>(root_.size());
    if (is_top_open_) leaf.top = static_cast<std::uint32_t>(out_.top.size() - 1);
    leaf.is_nameless = is_nameless_;
    return leaf;
  }

  /// Puts the steps out of `ref` behind `children_`; false if it is no container.
  bool push_children(Ref ref) {
    if (is_mapping(values_, ref)) {
      const auto pairs = mapping_pairs(values_, ref);
      for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) children_.push_back({pairs[i], 0, pairs[i + 1]});
      return true;
    }
    const Kind kind = values_.kind(ref);
    if (kind == Kind::list || kind == Kind::tuple) {
      push_items(values_.items(ref));
      return true;
    }
    return kind == Kind::call && push_object(ref);
  }

  void push_items(std::span<const Ref> items) {
    for (std::size_t i = 0; i < items.size(); ++i) children_.push_back({kNoRef, i, items[i]});
  }

  /// Objects are entered by attribute, list-like ones by index. An object without either is a leaf.
  bool push_object(Ref ref) {
    if (is_module(values_, ref)) {
      module_children(values_, ref, children_);
      return true;
    }
    const auto items = values_.items(ref);
    push_items(items);
    const auto pairs = attributes(values_, ref);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) children_.push_back({pairs[i], 0, pairs[i + 1]});
    return !items.empty() || !pairs.empty();
  }

  void append_key(const Child& child) {
    if (stack_.size() > 1) path_ += '.';  // the top has no key of its own, an empty key counts
    if (child.key == kNoRef) {
      path_ += std::to_string(child.index);
    } else {
      append_value_text(child.key);
    }
  }

  void append_value_text(Ref key) {
    if (values_.kind(key) == Kind::tuple) {
      const auto parts = values_.items(key);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) path_ += '.';
        append_scalar(parts[i]);
      }
    } else {
      append_scalar(key);
    }
  }

  void append_scalar(Ref key) {
    if (const auto bytes = bytes_of(values_, key)) {
      path_ += *bytes;
      return;
    }
    switch (values_.kind(key)) {
      case Kind::text:
      case Kind::string8: path_ += values_.text(key); return;
      case Kind::integer: path_ += std::to_string(values_.integer(key)); return;
      case Kind::none: path_ += "None"; break;
      case Kind::boolean: path_ += values_.boolean(key) ? "True" : "False"; break;
      case Kind::real: path_ += fmt::format("{}", values_.real(key)); break;
      case Kind::global:
        path_ += std::string(values_.module(key)) + "." + std::string(values_.name(key));
        break;
      default: path_ += "<" + kind_text(values_, key) + ">"; break;
    }
    is_nameless_ = true;
  }

  // A real file visits each value once or, where containers are shared, a few times.
  static constexpr std::uint64_t kVisitsPerValue = 4;
  static constexpr std::uint64_t kFreeVisits = 1'000'000;

  const Values& values_;
  const Limits& limits_;
  std::vector<Mark> marks_;
  std::vector<Frame> stack_;
  std::vector<Child> children_;
  std::string root_;
  std::string path_;
  std::size_t root_depth_ = 0;  // depth of the stack inside the asked root, 0 outside
  std::size_t top_bytes_ = 0;
  std::size_t top_tensors_before_ = 0;
  bool is_top_open_ = false;
  bool is_nameless_ = false;
  std::uint64_t visits_ = 0;
  Walk out_;
};

}  // namespace

Result<Walk> walk(const Values& values, Ref top, const std::optional<std::string>& root,
                  const Limits& limits) {
  return Walker(values, root, limits).run(top);
}

}  // namespace ckpt::torch
