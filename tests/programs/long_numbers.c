// Numbers of many digits, printed and read by the C library's arithmetic on limbs, which is written in assembly.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  static char text[6000];
  double sum = 0;
  for (int exponent = -4000; exponent < 4000; exponent += 97) {
    snprintf(text, sizeof text, "%.700Lf", ldexpl(1.1L, exponent));
    sum += (double)fmodl(strtold(text, NULL), 10) + strtod(text + 1, NULL) / 1e300;
    snprintf(text, sizeof text, "%a %.40g", sum, sum);
    sum += strtod(text, NULL) / 1e9;
  }
  return isnan(sum);
}
