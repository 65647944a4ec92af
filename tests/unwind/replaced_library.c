/* Calls back from a frame of FRAME bytes. With another number of them every instruction and segment keeps its size, so that
   nothing but the rows and the build-id differs. */
int call_back(int (*function)(void));

int call_back(int (*function)(void)) {
  volatile char bytes[FRAME];
  bytes[0] = 1;
  bytes[FRAME - 1] = 2;
  return function() + bytes[0] + bytes[FRAME - 1];
}
