# gen5_embed(OUT made NAMESPACE a::b HEADER path.h ROOT folder FILES name …)
#   A source, whose path comes back in OUT, that holds the bytes of these files below ROOT: it defines a::b::files(), which HEADER
#   declares (common/tinygpu/base/embedded_file.h). As bytes, since a file may hold anything and a compiler need not take a literal of
#   more than 64 KiB.
#
# The build runs this file as a script, which writes the source:
#   cmake -DOUTPUT=file.cpp -DNAMESPACE=a::b -DHEADER=path.h -DROOT=folder -P Gen5Embed.cmake -- name …
if(NOT CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  set(GEN5_EMBED ${CMAKE_CURRENT_LIST_FILE})
  function(gen5_embed)
    cmake_parse_arguments(E "" "OUT;NAMESPACE;HEADER;ROOT" "FILES" ${ARGN})
    string(REPLACE "::" "_" made ${E_NAMESPACE})
    set(made ${CMAKE_CURRENT_BINARY_DIR}/${made}.cpp)
    list(TRANSFORM E_FILES PREPEND ${E_ROOT}/ OUTPUT_VARIABLE paths)
    add_custom_command(OUTPUT ${made}
                       COMMAND ${CMAKE_COMMAND} -DOUTPUT=${made} -DNAMESPACE=${E_NAMESPACE} -DHEADER=${E_HEADER} -DROOT=${E_ROOT} -P ${GEN5_EMBED}
                               -- ${E_FILES}
                       DEPENDS ${paths} ${GEN5_EMBED}
                       VERBATIM)
    set(${E_OUT} ${made} PARENT_SCOPE)
  endfunction()
  return()
endif()

set(arrays "")
set(table "")
set(number 0)
set(seen FALSE)
foreach(i RANGE ${CMAKE_ARGC})
  if(NOT DEFINED CMAKE_ARGV${i})
    continue()
  endif()
  set(word "${CMAKE_ARGV${i}}")
  if(seen)
    file(READ "${ROOT}/${word}" bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    # The zero is not counted: an array has at least one element.
    string(APPEND arrays "constexpr unsigned char k${number}[] = {${bytes}0};\n")
    string(APPEND table "    {\"${word}\", {reinterpret_cast<const char*>(k${number}), sizeof k${number} - 1}},\n")
    math(EXPR number "${number} + 1")
  elseif(word STREQUAL "--")
    set(seen TRUE)
  endif()
endforeach()
if(number EQUAL 0)
  message(FATAL_ERROR "Gen5Embed: name files behind --")
endif()
file(WRITE "${OUTPUT}" "// Made by cmake/Gen5Embed.cmake.
#include \"${HEADER}\"

namespace ${NAMESPACE} {
namespace {

${arrays}
const tinygpu::EmbeddedFile kFiles[] = {
${table}};

}  // namespace

std::span<const EmbeddedFile> files() { return kFiles; }

}  // namespace ${NAMESPACE}
")
