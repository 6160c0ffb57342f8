#include "report.h"

namespace ckpt::app {

namespace {

Phase sum(const Phase& a, const Phase& b) {
  return {a.seconds + b.seconds, a.bytes + b.bytes, a.reads + b.reads};
}

}  // namespace

Phases sum(const Phases& a, const Phases& b) {
  return {sum(a.container, b.container), sum(a.metadata, b.metadata), sum(a.data, b.data)};
}

}  // namespace ckpt::app
