#include "ckpt/jobs/output_path.h"

#include "ckpt/io/platform.h"

namespace ckpt {

namespace {

std::string stem_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t dot = path.find_last_of('.');
  // A dot at the start of the name is no extension.
  const std::size_t end = dot == std::string::npos || dot <= start ? path.size() : dot;
  return path.substr(start, end - start);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

}  // namespace

std::string output_path(const std::string& input, const std::string& output) {
  const std::string name = stem_of(input) + ".safetensors";
  if (output.empty()) return folder_of(input) + name;
  const auto identity = platform::identify(output);
  if (!identity || !identity->is_directory) return output;
  return output.back() == '/' ? output + name : output + "/" + name;
}

Status check_output(const std::string& output, const Model& input, bool replace) {
  const auto identity = platform::identify(output);
  if (!identity) return {};  // whatever else is wrong with the path, creating the file says
  for (const InputFile& file : input.files) {
    if (!file.source->identity().same_file(*identity)) continue;
    return fail(make_error(ErrorCode::would_overwrite, "output and input are the same file").in_file(output));
  }
  if (!identity->is_regular) {
    return fail(
        make_error(ErrorCode::would_overwrite, "output exists and is not a regular file").in_file(output));
  }
  if (replace) return {};
  return fail(make_error(ErrorCode::would_overwrite, "output exists")
                  .in_file(output)
                  .with_advice("replace it with --force"));
}

}  // namespace ckpt
