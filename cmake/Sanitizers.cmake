# CKPT_SANITIZE is a list for -fsanitize, such as "address,undefined" or "thread".
function(ckpt_add_sanitizers target)
  if(NOT CKPT_SANITIZE)
    return()
  endif()
  # Undefined behaviour ends the program: a printed warning alone would let its test pass.
  target_compile_options(${target} INTERFACE "-fsanitize=${CKPT_SANITIZE}" -fno-sanitize-recover=all
                                             -fno-omit-frame-pointer)
  target_link_options(${target} INTERFACE "-fsanitize=${CKPT_SANITIZE}")
endfunction()
