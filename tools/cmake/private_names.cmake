# SPDX-License-Identifier: MIT
# Gives the functions that the files of a static library share names that no C program can have: "imgstat." before
# each. A program with a file_open of its own could not be linked. ARCHIVE, NM, OBJCOPY: paths.
execute_process(COMMAND ${NM} -g --defined-only ${ARCHIVE} OUTPUT_VARIABLE symbols ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " [A-Z] [A-Za-z][A-Za-z0-9_]*\n" symbols "${symbols}")
list(TRANSFORM symbols REPLACE " [A-Z] (.*)\n" "\\1")
list(FILTER symbols EXCLUDE REGEX "^imgstat_")
list(REMOVE_DUPLICATES symbols)
list(TRANSFORM symbols REPLACE "(.+)" "\\1 imgstat.\\1\n")
if(symbols)
  string(CONCAT names ${symbols})
  set(work ${ARCHIVE}.work) # where objcopy leaves what it began if it fails
  file(WRITE ${work}/names "${names}")
  execute_process(COMMAND ${OBJCOPY} -D --redefine-syms=${work}/names ${ARCHIVE} ${work}/renamed.a
                  RESULT_VARIABLE result ERROR_VARIABLE error)
  if(result EQUAL 0)
    file(RENAME ${work}/renamed.a ${ARCHIVE})
  endif()
  file(REMOVE_RECURSE ${work})
  if(error MATCHES "LTO-compiled") # -flto: it holds no machine code yet, and stays as it is
    message(WARNING "${ARCHIVE}: functions keep their names, which objects of -flto cannot change")
  elseif(NOT result EQUAL 0)
    message(FATAL_ERROR "${error}")
  endif()
endif()
