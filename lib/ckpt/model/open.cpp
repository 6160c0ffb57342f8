#include "ckpt/model/open.h"

#include "ckpt/model/aliases.h"
#include "ckpt/model/formats.h"
#include "ckpt/model/sniff.h"

namespace ckpt {

namespace {

Error in_file(Error error, const std::string& path) { return std::move(error.in_file(path)); }

Result<Model> open_file(const std::string& path, const OpenOptions& options) {
  CKPT_LET(auto source, FileSource::open(path));
  CKPT_LET(const Container container, sniff(*source));
  Model model;
  model.files.emplace_back();
  model.files[0].path = path;
  model.files[0].source = std::move(source);
  CKPT_TRY(container == Container::zip ? build_torch_zip(model, options) : build_safetensors(model, options));
  for (Finding& finding : model.findings) finding.what.in_file(path);
  return model;
}

}  // namespace

Result<Model> open_model(const std::string& path, const OpenOptions& options) {
  const auto identity = platform::identify(path);
  if (!identity) return fail(in_file(identity.error(), path));
  if (identity->is_directory) {
    return fail(in_file(make_error(ErrorCode::unsupported, "is a folder; name a file in it"), path));
  }
  auto model = open_file(path, options);
  if (!model) return fail(in_file(std::move(model).error(), path));
  return model;
}

}  // namespace ckpt
