# SPDX-License-Identifier: MIT
# Looks for what the tests need, as IMGSTAT_TESTS asks. Sets IMGSTAT_HAVE_TESTS.
set(IMGSTAT_HAVE_TESTS OFF)
if(IMGSTAT_TESTS STREQUAL "OFF")
  return()
endif()
pkg_check_modules(CRITERION IMPORTED_TARGET criterion)
if(CRITERION_FOUND)
  set(IMGSTAT_HAVE_TESTS ON)
elseif(IMGSTAT_TESTS STREQUAL "ON")
  message(FATAL_ERROR "IMGSTAT_TESTS=ON, but Criterion was not found (Debian, Ubuntu: libcriterion-dev)")
endif()
