#include "greeting.h"

int main(int count, char **arguments) {
  return greeting(count > 1 ? arguments[1] : "") < 0;
}
