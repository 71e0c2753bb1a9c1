# cmake -DFROM=FILE -DTO=FILE.def -DNAME=name -P embed.cmake: a file as an array of bytes in C.
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${TO} "/* Made of ${NAME}. */\nstatic const unsigned char ${NAME}[] = {${bytes}};\n")
