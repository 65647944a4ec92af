// Calls from Go to C and back.
package main

/*
typedef int (*step)(int);
extern int goStep(int);
__attribute__((noinline)) static int cStep(int n) { return n == 0 ? 0 : goStep(n - 1) + 1; }
*/
import "C"
import "fmt"

//export goStep
func goStep(n C.int) C.int { return C.cStep(n) }

func main() { fmt.Println(C.cStep(20)) }
