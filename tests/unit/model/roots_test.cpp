#include "ckpt/model/roots.h"

#include "support/model_checks.h"
#include "support/torch_file.h"

namespace ckpt::test {
namespace {

/// A file whose top-level keys each hold a dict with a tensor `w`; a key in angle brackets holds the tensor
/// itself.
Model model_of(const std::vector<std::string>& keys, const OpenOptions& options = {}) {
  const TempDir folder;
  const std::string pickle = pickled_dict(keys, [](PickleBuilder& builder, const std::string& key) {
    if (key.front() == '<') {
      add_tensor(builder, pickled("w", "0", {4}));
    } else {
      add_dict(builder, {pickled("w", "0", {4})});
    }
  });
  return opened(write(folder, "m.pt", torch_file(pickle, {{"0", pattern_bytes(16)}})), options);
}

void check_entered(const std::vector<std::string>& keys, const std::string& root) {
  const Model model = model_of(keys);
  CHECK(model.root == root);
  CHECK_FALSE(model.is_root_ambiguous);
  CHECK(tensor_names(model) == "w");
  CHECK(model.outside_tensors == keys.size() - 1);
}

void check_ambiguous(const std::vector<std::string>& keys) {
  const Model model = model_of(keys);
  CHECK(model.is_root_ambiguous);
  CHECK(model.root == "/");
  CHECK(model.tensors.size() == keys.size());
}

}  // namespace

TEST_CASE("roots: the wrapper keys are these, exactly", "[model]") {
  for (const char* key :
       {"state_dict", "model_state_dict", "model", "module", "params_ema", "params", "net", "ema"}) {
    CHECK(is_wrapper_key(key));
    check_entered({key}, key);
  }
  for (const char* key : {"Model", "models", "model_ema", "weights", "", "state_dict ", "generator"})
    CHECK_FALSE(is_wrapper_key(key));
}

TEST_CASE("roots: the side keys are these patterns", "[model]") {
  for (const char* key :
       {"optim", "optimizer", "optimizer_states", "sched", "lr_schedulers", "my_sched", "scaler", "rng",
        "cuda_rng_state", "rng_state", "callbacks", "loops", "hyper_parameters"}) {
    INFO(key);
    CHECK(is_side_key(key));
    check_entered({"model", key}, "model");
  }
  for (const char* key : {"my_optimizer", "scalers", "callback", "loop", "epoch", "schema"}) {
    INFO(key);
    CHECK_FALSE(is_side_key(key));
  }
}

TEST_CASE("roots: no wrapper means the top", "[model]") {
  const Model model = model_of({"generator", "discriminator"});
  CHECK(model.root == "/");
  CHECK_FALSE(model.is_root_ambiguous);
  CHECK(tensor_names(model) == "generator.w discriminator.w");
  CHECK(model.outside_tensors == 0);
}

TEST_CASE("roots: a wrapper that holds no tensor does not count", "[model]") {
  const TempDir folder;
  const std::string pickle =
      pickled_dict({"model", "net"}, [](PickleBuilder& builder, const std::string& key) {
        if (key == "model") {
          builder.empty_dict().binunicode("lr").binfloat(0.1).setitem();
        } else {
          add_dict(builder, {pickled("w", "0", {4})});
        }
      });
  CHECK(opened(write(folder, "m.pt", torch_file(pickle, {{"0", pattern_bytes(16)}}))).root == "net");
}

TEST_CASE("roots: a wrapper key whose value is a tensor is no wrapper", "[model]") {
  const TempDir folder;
  const Model model = opened(write(folder, "m.pt", torch_file({pickled("model", "0", {4})})));
  CHECK(model.root == "/");
  CHECK(tensor_names(model) == "model");
}

TEST_CASE("roots: two wrappers are ambiguous, and listed with counts and bytes", "[model]") {
  check_ambiguous({"model", "ema"});
  const Model model = model_of({"model", "ema", "optimizer"});
  CHECK(model.is_root_ambiguous);
  REQUIRE(model.roots.size() == 4);
  CHECK(model.roots[0].key == "model");
  CHECK(model.roots[0].is_wrapper);
  CHECK(model.roots[0].tensors == 1);
  CHECK(model.roots[0].bytes == 16);
  CHECK_FALSE(model.roots[2].is_wrapper);
  CHECK(model.roots[3].key == "/");
  CHECK(model.roots[3].tensors == 3);
}

TEST_CASE("roots: a tensor outside the wrapper and the side keys is ambiguous", "[model]") {
  check_ambiguous({"model", "model_ema"});
  check_ambiguous({"model", "<stray>"});
}

TEST_CASE("roots: a wrapper inside a wrapper is not entered", "[model]") {
  const TempDir folder;
  const std::string pickle = pickled_dict({"model"}, [](PickleBuilder& builder, const std::string&) {
    builder.empty_dict().binunicode("module");
    add_dict(builder, {pickled("w", "0", {4})});
    builder.setitem();
  });
  CHECK(tensor_names(opened(write(folder, "m.pt", torch_file(pickle, {{"0", pattern_bytes(16)}})))) ==
        "module.w");
}

TEST_CASE("roots: an asked root decides, with a dotted path too", "[model]") {
  CHECK(tensor_names(model_of({"model", "ema"}, with_root("ema"))) == "w");
  const Model all = model_of({"model", "ema"}, with_root("/"));
  CHECK(tensor_names(all) == "model.w ema.w");
  CHECK_FALSE(all.is_root_ambiguous);
  CHECK(all.is_root_given);

  const TempDir folder;
  const std::string pickle = pickled_dict({"a"}, [](PickleBuilder& builder, const std::string&) {
    builder.empty_dict().binunicode("b.c");
    add_dict(builder, {pickled("w", "0", {4})});
    builder.setitem().binunicode("x");
    add_tensor(builder, pickled("x", "0", {4}));
    builder.setitem();
  });
  const std::string path = write(folder, "m.pt", torch_file(pickle, {{"0", pattern_bytes(16)}}));
  const Model deep = opened(path, with_root("a.b.c"));
  CHECK(tensor_names(deep) == "w");
  CHECK(deep.outside_tensors == 1);
  CHECK(deep.outside_bytes == 16);
}

TEST_CASE("roots: a root that is not there is no-match, with what holds tensors", "[model]") {
  const TempDir folder;
  const std::string pickle = pickled_dict({"model", "ema"}, [](PickleBuilder& builder, const std::string&) {
    add_dict(builder, {pickled("w", "0", {4})});
  });
  const std::string path = write(folder, "m.pt", torch_file(pickle, {{"0", pattern_bytes(16)}}));
  check_error(open_error(path, with_root("none")), ErrorCode::no_match,
              "no root \"none\" in the file; what holds tensors: \"model\", \"ema\"");
  check_error(open_error(path, with_root("model.w")), ErrorCode::no_match, "no root \"model.w\"");
  const std::string flat = write(folder, "f.pt", torch_file({pickled("w", "0", {4})}));
  check_error(open_error(flat, with_root("none")), ErrorCode::no_match, "only \"/\"");
}

}  // namespace ckpt::test
