# SPDX-License-Identifier: MIT
# Writes files as arrays of C: cmake -DOUT=parts.c -DFOLDER=folder -P embed.cmake
set(text "/* Made by embed.cmake. */\n")
foreach(file page.html page.css page.js)
  file(READ ${FOLDER}/${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REPLACE "." "_" name ${file})
  string(APPEND text "extern const char report_${name}[];\nconst char report_${name}[] = {${bytes}0};\n")
endforeach()
file(WRITE ${OUT} "${text}")
