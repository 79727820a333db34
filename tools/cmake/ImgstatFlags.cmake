# SPDX-License-Identifier: MIT
# imgstat_flags: what all our sources are compiled with. imgstat_sanitize: what they are linked with.
add_library(imgstat_sanitize INTERFACE)
if(IMGSTAT_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "IMGSTAT_FUZZ=ON needs clang: configure with --preset fuzz, or -DCMAKE_C_COMPILER=clang")
  endif()
  target_compile_options(imgstat_sanitize INTERFACE $<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>)
endif()
if(IMGSTAT_SANITIZE)
  target_compile_options(imgstat_sanitize INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${IMGSTAT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  # ld shortens how the address of an extern thread_local is computed, and g++'s check for NULL then finds one.
  target_compile_options(imgstat_sanitize INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null>)
  # Not position-independent: starting one would relocate what the sanitizer knows of each line, and tests start many.
  target_link_options(imgstat_sanitize INTERFACE -fsanitize=${IMGSTAT_SANITIZE}
                                                 $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()

add_library(imgstat_flags INTERFACE)
target_link_libraries(imgstat_flags INTERFACE imgstat_sanitize)
# (Not -Wextra for CUDA: as C++ it objects to our enum constants beside numbers in a ? b : c.)
# No contraction of a * b + c: results must be the same bits on every compiler and device.
target_compile_options(imgstat_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wshadow -Wno-unknown-pragmas>
  $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false -Xcompiler=-ffp-contract=off -Xcompiler=-Wall,-Wshadow,-Wunused-parameter>
  "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror cross-execution-space-call>")
if(IMGSTAT_WERROR)
  target_compile_options(imgstat_flags INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>
    "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings -Xcompiler=-Werror>")
endif()
if(IMGSTAT_SYNC_LAUNCHES)
  target_compile_definitions(imgstat_flags INTERFACE IMGSTAT_SYNC_LAUNCHES)
endif()
