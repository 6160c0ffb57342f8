#pragma once

/// Marks what libckpt.so shows. Everything else is hidden (-fvisibility=hidden), so that a module can
/// change without anyone outside noticing.
#define CKPT_API __attribute__((visibility("default")))
