#include "tree.h"

#include <functional>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "ckpt/base/text.h"
#include "table.h"

namespace ckpt::app {

namespace {

/// Names with more dots than this are not split further, so that no name can make the tree deep.
constexpr std::size_t kDeepest = 32;
constexpr std::size_t kBarColumns = 12;

struct Node {
  std::string key;
  std::vector<std::unique_ptr<Node>> children;
  std::map<std::string, Node*, std::less<>> by_key;
  std::uint64_t bytes = 0;
  std::uint64_t tensors = 0;
  std::string leaf;           // dtype and shape of a tensor
  std::size_t signature = 0;  // a hash, equal for nodes that hold the same shapes under the same keys
  std::string last_key;       // of a folded range
  std::uint64_t folded = 1;
};

Node& child(Node& parent, std::string_view key) {
  const auto found = parent.by_key.find(key);
  if (found != parent.by_key.end()) return *found->second;
  auto node = std::make_unique<Node>();
  node->key = std::string(key);
  Node& ref = *node;
  parent.by_key.emplace(ref.key, &ref);
  parent.children.push_back(std::move(node));
  return ref;
}

void insert(Node& root, const Tensor& tensor) {
  Node* node = &root;
  std::string_view rest = tensor.name;
  for (std::size_t depth = 0;; ++depth) {
    node->bytes += tensor.bytes;
    node->tensors += 1;
    if (rest.empty() && depth > 0) break;
    const std::size_t dot = depth + 1 < kDeepest ? rest.find('.') : std::string_view::npos;
    node = &child(*node, rest.substr(0, dot));
    if (dot == std::string_view::npos) {
      node->bytes += tensor.bytes;
      node->tensors += 1;
      break;
    }
    rest.remove_prefix(dot + 1);
  }
  node->leaf = fmt::format("{} [{}]", dtype_word(tensor.dtype), fmt::join(tensor.shape, ", "));
}

bool is_number(const std::string& key) {
  return !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == std::string::npos;
}

/// Children first, no deeper than kDeepest.
void sign(Node& node) {
  std::string content = node.leaf;
  for (auto& next : node.children) {
    sign(*next);
    content += fmt::format("\n{}:{}", next->key, next->signature);
  }
  node.signature = std::hash<std::string>()(content);
}

/// Neighbouring numbers with equal content become one node.
void fold(Node& node) {
  std::vector<std::unique_ptr<Node>> kept;
  for (auto& next : node.children) {
    const bool joins = !kept.empty() && is_number(next->key) && is_number(kept.back()->key) &&
                       kept.back()->signature == next->signature &&
                       std::stoul(next->key) == std::stoul(kept.back()->last_key) + 1;
    if (joins) {
      kept.back()->last_key = next->key;
      kept.back()->bytes += next->bytes;
      kept.back()->tensors += next->tensors;
      kept.back()->folded += 1;
    } else {
      next->last_key = next->key;
      kept.push_back(std::move(next));
    }
  }
  node.children = std::move(kept);
  for (auto& next : node.children) fold(*next);
}

std::string label(const Node& node) {
  if (node.folded == 1) return escaped(node.key, 256);
  return "{" + node.key + ".." + node.last_key + "}";
}

std::string bar(std::uint64_t bytes, std::uint64_t whole) {
  const double share = whole == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(whole);
  const auto eighths = static_cast<std::size_t>(share * kBarColumns * 8 + 0.5);
  constexpr const char* kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) out += "█";
  return out + kParts[eighths % 8];
}

void add_rows(const Node& node, const std::string& indent, const std::string& prefix, std::uint64_t whole,
              Table& table) {
  const std::string name = prefix + label(node);
  // A chain of single modules takes one line: "model.layers.{0..29}".
  if (node.leaf.empty() && node.children.size() == 1)
    return add_rows(*node.children[0], indent, name + ".", whole, table);
  const std::string what =
      node.children.empty() ? node.leaf + (node.folded > 1 ? fmt::format(" × {}", node.folded) : "") : "";
  table.add({indent + name, byte_size(node.bytes), grouped(node.tensors), bar(node.bytes, whole), what});
  for (const auto& next : node.children) add_rows(*next, indent + "  ", "", whole, table);
}

}  // namespace

std::string render_tree(const InspectResult& result, std::size_t width) {
  Node root;
  for (const std::uint32_t index : result.selected) insert(root, result.model.tensors[index]);
  sign(root);
  fold(root);
  Table table({{"MODULE", false}, {"BYTES", true}, {"TENSORS", true}, {"SHARE", false}, {"TENSOR", false}});
  for (const auto& next : root.children) add_rows(*next, "", "", root.bytes, table);
  return table.render(width);
}

}  // namespace ckpt::app
