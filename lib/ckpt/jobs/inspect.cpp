#include "ckpt/jobs/common.h"
#include "ckpt/jobs/digests.h"

namespace ckpt {

namespace {

Status add_digests(InspectResult& result, const InspectOptions& options) {
  DigestRequest request;
  request.model = &result.model;
  request.selected = &result.selected;
  for (const Record& record : result.model.records) request.records.push_back(&record);
  CKPT_LET(DigestOutcome outcome,
           digest_inputs({request}, thread_count(options.input.threads), options.input.progress));
  result.digests = std::move(outcome.answers[0].digests);
  result.model_digest = model_digest(result.model, result.selected, result.digests);
  result.model.phases.data = outcome.data;
  for (Finding& finding : outcome.wrong_checksums) result.model.findings.push_back(std::move(finding));
  return {};
}

}  // namespace

Result<InspectResult> inspect(const std::string& path, const InspectOptions& options) {
  InspectResult result;
  CKPT_LET(result.model, open_input(path, options.input, false));
  CKPT_LET(result.selected, select_tensors(result.model, options.input.selection));
  if (options.with_digests) CKPT_TRY(add_digests(result, options));
  return result;
}

}  // namespace ckpt
