# SPDX-License-Identifier: MIT
# imgstat_flags: what all our sources are compiled with. imgstat_link: what they are linked with.
add_library(imgstat_link INTERFACE)
# Hardening: what overwrites memory crashes before it does harm. Sanitizers do more, in places of their own.
if(NOT IMGSTAT_SANITIZE)
  set(hardening -fstack-protector-strong -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    list(APPEND hardening -fcf-protection)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    list(APPEND hardening -mbranch-protection=standard)
  endif()
  set(fortify 2)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
    set(fortify 3)
  endif()
  target_compile_options(imgstat_link INTERFACE
    "$<$<COMPILE_LANGUAGE:C>:${hardening}>"
    "$<$<AND:$<COMPILE_LANGUAGE:C>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${fortify}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=$<JOIN:${hardening},$<COMMA>>>")
  target_link_options(imgstat_link INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack
                                             $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)
endif()
if(IMGSTAT_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "IMGSTAT_FUZZ=ON needs clang: configure with --preset fuzz, or -DCMAKE_C_COMPILER=clang")
  endif()
  target_compile_options(imgstat_link INTERFACE $<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>)
endif()
if(IMGSTAT_SANITIZE)
  target_compile_options(imgstat_link INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${IMGSTAT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  # ld shortens how the address of an extern thread_local is computed, and g++'s check for NULL then finds one.
  target_compile_options(imgstat_link INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null>)
  # Not position-independent: starting one would relocate what the sanitizer knows of each line, and tests start many.
  target_link_options(imgstat_link INTERFACE -fsanitize=${IMGSTAT_SANITIZE}
                                                 $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()

add_library(imgstat_flags INTERFACE)
target_link_libraries(imgstat_flags INTERFACE imgstat_link)
# nvcc includes <cmath> in every file. This guard leaves out libstdc++'s special functions, which nothing here uses: they
# took a third of the time of a small file.
target_compile_definitions(imgstat_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:_GLIBCXX_BITS_SPECFUN_H>)
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
