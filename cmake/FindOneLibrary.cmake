# find_one_library(VARIABLE NAME IS_STATIC): the static library of that name, or the one that a linker takes for -lNAME.
function(find_one_library variable name is_static)
  if(NOT is_static)
    find_library(${variable} NAMES ${name})
    return()
  endif()
  if(${variable} AND NOT ${variable} MATCHES "\\.a$")  # found before it was asked for
    unset(${variable} CACHE)
  endif()
  find_library(${variable} NAMES lib${name}.a)
endfunction()
