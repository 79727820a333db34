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
  file(WRITE ${ARCHIVE}.names "${names}")
  execute_process(COMMAND ${OBJCOPY} -D --redefine-syms=${ARCHIVE}.names ${ARCHIVE} COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE ${ARCHIVE}.names)
endif()
