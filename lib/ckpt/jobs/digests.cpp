#include "ckpt/jobs/digests.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <tuple>

#include <fmt/format.h>

#include "ckpt/io/byte_reader.h"
#include "ckpt/jobs/common.h"
#include "ckpt/jobs/tensor_stream.h"

namespace ckpt {

namespace {

/// One digest to make, and everyone who wants it.
class DigestConsumer final : public TensorConsumer {
 public:
  explicit DigestConsumer(std::size_t targets) : digests_(targets), active_(targets) {}

  void prepare(unsigned workers) override { idle_.resize(workers); }

  Status take(unsigned worker, std::uint32_t target, std::uint64_t offset,
              std::span<const std::byte> bytes) override {
    (void)offset;
    std::unique_ptr<Sha256>& sha = active_[target];
    if (!sha) sha = borrow(worker);
    sha->update(bytes);
    return {};
  }

  Status end(unsigned worker, std::uint32_t target) override {
    digests_[target] = active_[target]->finish();
    idle_[worker].push_back(std::move(active_[target]));
    return {};
  }

  std::optional<Digest>& digest(std::uint32_t target) { return digests_[target]; }

 private:
  /// A context of this worker that nobody uses, else a new one.
  std::unique_ptr<Sha256> borrow(unsigned worker) {
    auto& idle = idle_[worker];
    if (idle.empty()) return std::make_unique<Sha256>();
    std::unique_ptr<Sha256> sha = std::move(idle.back());
    idle.pop_back();
    return sha;
  }

  std::vector<std::optional<Digest>> digests_;
  std::vector<std::unique_ptr<Sha256>> active_;
  std::vector<std::vector<std::unique_ptr<Sha256>>> idle_;
};

/// Who wants which target, target by target.
struct Wish {
  std::size_t request;
  std::uint32_t tensor;
  std::uint32_t target;
};

const View& view_of(const DigestRequest& request, std::uint32_t tensor) {
  return request.model->tensors[tensor].view;
}

auto place_of(const std::vector<DigestRequest>& requests, const Wish& wish) {
  const Tensor& tensor = requests[wish.request].model->tensors[wish.tensor];
  return std::make_tuple(wish.request, tensor.storage, tensor.view.offset, tensor.bytes,
                         tensor.view.unit_bytes);
}

bool same_bytes(const std::vector<DigestRequest>& requests, const Wish& a, const Wish& b) {
  if (place_of(requests, a) != place_of(requests, b)) return false;
  const Tensor& x = requests[a.request].model->tensors[a.tensor];
  const Tensor& y = requests[b.request].model->tensors[b.tensor];
  if (x.is_contiguous && y.is_contiguous) return true;
  return x.view.dims == y.view.dims && x.view.stride == y.view.stride;
}

/// Numbers the targets: equal views of one storage share one.
std::uint32_t number_targets(const std::vector<DigestRequest>& requests, std::vector<Wish>& wishes) {
  std::sort(wishes.begin(), wishes.end(), [&](const Wish& a, const Wish& b) {
    const auto x = place_of(requests, a);
    const auto y = place_of(requests, b);
    if (x != y) return x < y;
    const View& v = view_of(requests[a.request], a.tensor);
    const View& w = view_of(requests[b.request], b.tensor);
    return std::tie(v.dims, v.stride) < std::tie(w.dims, w.stride);
  });
  std::uint32_t targets = 0;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (i > 0 && !same_bytes(requests, wishes[i - 1], wishes[i])) ++targets;
    wishes[i].target = targets;
  }
  return wishes.empty() ? 0 : targets + 1;
}

std::vector<Wish> collect_wishes(const std::vector<DigestRequest>& requests, DigestOutcome& outcome) {
  std::vector<Wish> wishes;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    outcome.answers[r].digests.resize(requests[r].model->tensors.size());
    if (requests[r].selected == nullptr) continue;
    for (const std::uint32_t index : *requests[r].selected) {
      const Tensor& tensor = requests[r].model->tensors[index];
      if (why_not_readable(*requests[r].model, tensor)) continue;
      if (tensor.bytes == 0) {
        outcome.answers[r].digests[index] = Sha256().finish();
      } else {
        wishes.push_back({r, index, 0});
      }
    }
  }
  return wishes;
}

}  // namespace

std::optional<Error> why_not_readable(const Model& model, const Tensor& tensor) {
  const auto unsupported = [&](std::string text) {
    Error error = make_error(ErrorCode::unsupported, std::move(text));
    return std::optional(error.in_file(model.files[0].path).in_tensor(tensor.name));
  };
  if (tensor.kind == TensorKind::unreadable) {
    Error error = make_error(ErrorCode::corrupt, tensor.note);
    return error.in_file(model.files[0].path).in_tensor(tensor.name);
  }
  if (tensor.kind == TensorKind::meta) return unsupported("a meta tensor has no data");
  if (tensor.kind != TensorKind::plain)
    return unsupported(fmt::format("a {} tensor is not one plain buffer", tensor_kind_word(tensor.kind)));
  if (tensor.is_conjugate) return unsupported("a lazily conjugated tensor is not read yet");
  if (tensor.is_negative) return unsupported("a lazily negated tensor is not read yet");
  if (tensor.bytes == 0) return std::nullopt;
  const Storage& storage = model.storages[tensor.storage];
  if (model.files[storage.file].is_big_endian && dtype_facts(tensor.dtype).swap_bytes > 1) {
    return unsupported("big-endian data is not read yet");
  }
  if (storage.offset == 0) {
    const bool is_deflated = storage.record != kNoIndex && !model.records[storage.record].is_stored;
    return unsupported(is_deflated ? "its record is deflated, which is not read yet"
                                   : "its record cannot be located");
  }
  return std::nullopt;
}

Result<DigestOutcome> digest_inputs(const std::vector<DigestRequest>& requests, unsigned threads,
                                    Progress* progress) {
  const auto start = std::chrono::steady_clock::now();
  DigestOutcome outcome;
  outcome.answers.resize(requests.size());
  std::vector<Wish> wishes = collect_wishes(requests, outcome);
  const std::uint32_t targets = number_targets(requests, wishes);
  DigestConsumer consumer(targets + requests.size());
  TensorStream stream(StreamOrder::sequential, consumer);
  for (const DigestRequest& request : requests) {
    const std::uint32_t number = stream.add_model(*request.model);
    for (const Record* record : request.records) stream.add_record(number, *record);
    if (request.with_file_digest) stream.add_file(number, targets + number);
  }
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (i > 0 && wishes[i].target == wishes[i - 1].target) continue;
    const auto request = static_cast<std::uint32_t>(wishes[i].request);
    stream.add_tensor(request, requests[request].model->tensors[wishes[i].tensor], wishes[i].target);
  }
  set_activity(progress, "digesting");
  CKPT_TRY(stream.run(threads, progress));
  for (const Wish& wish : wishes)
    outcome.answers[wish.request].digests[wish.tensor] = consumer.digest(wish.target);
  for (std::uint32_t r = 0; r < requests.size(); ++r) {
    if (requests[r].with_file_digest) outcome.answers[r].file_digest = consumer.digest(targets + r);
  }
  outcome.wrong_checksums = stream.wrong_checksums();
  outcome.data.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.data.bytes = stream.work().bytes;
  outcome.data.reads = stream.work().reads;
  return outcome;
}

namespace {

/// `"`, `\` and bytes below 0x20 escaped, the latter as \u00xx: nothing else, so that the definition stays one line.
std::string json_name(const std::string& name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

std::optional<Digest> model_digest(const Model& model, const std::vector<std::uint32_t>& selected,
                                   const TensorDigests& digests) {
  std::vector<std::uint32_t> order = selected;
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return model.tensors[a].name < model.tensors[b].name; });
  const auto same_name = [&](std::uint32_t a, std::uint32_t b) {
    return model.tensors[a].name == model.tensors[b].name;
  };
  if (std::adjacent_find(order.begin(), order.end(), same_name) != order.end())
    return std::nullopt;  // no order is the right one
  Sha256 sha;
  sha.update(as_bytes("ckpt-model 1\n"));
  for (const std::uint32_t index : order) {
    const Tensor& tensor = model.tensors[index];
    if (!digests[index]) return std::nullopt;
    const std::string line = fmt::format("{}\t{}\t{}\t{}\n", json_name(tensor.name), dtype_word(tensor.dtype),
                                         fmt::join(tensor.shape, ","), digest_hex(*digests[index]));
    sha.update(as_bytes(line));
  }
  return sha.finish();
}

}  // namespace ckpt
