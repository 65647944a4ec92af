// What busy.go does, and calls from C, under the profiler of Go's runtime: its SIGPROF handler walks the interrupted stack.
// Arguments: seconds, a file for the profile, one for walks, how many walks, how many a second, and how many steps.
package main

/*
#include <stdlib.h>
#include "walks.h"
typedef int (*compare)(const void *, const void *);
extern int goCompare(void *, void *);
static int ascending(const void *a, const void *b) { return goCompare((void *)a, (void *)b); }
static void sort(int *numbers, int count) { qsort(numbers, count, sizeof *numbers, ascending); }
*/
import "C"

import (
	"bytes"
	"compress/flate"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sort"
	"strings"
	"sync"
	"time"
	"unsafe"
)

//export goCompare
func goCompare(a, b unsafe.Pointer) C.int { return *(*C.int)(a) - *(*C.int)(b) }

type shape interface{ area(depth int) float64 }
type square struct{ side float64 }

// Of a recursion that is inlined, Go's profile has addresses that nothing returns to.
//
//go:noinline
func (s square) area(depth int) float64 {
	if depth == 0 {
		return s.side * s.side
	}
	return s.area(depth-1) + 1
}

type link struct {
	value int
	next  *link
}

//go:noinline
func length(l *link) int {
	if l == nil {
		return 0
	}
	return 1 + length(l.next)
}

//go:noinline
func faults(n int) (result int) {
	defer func() {
		if recover() != nil {
			result = -n
		}
	}()
	var none *link
	return none.next.value
}

func cleans(n int) (result int) {
	for i := 0; i < 3; i++ {
		defer func(i int) { result += strings.Count(fmt.Sprint(n, i), "1") }(i)
	}
	return n
}

func work(n int) int {
	numbers := make([]C.int, 300)
	for i := range numbers {
		numbers[i] = C.int(i * 7919 % 1009)
	}
	C.sort(&numbers[0], C.int(len(numbers)))
	words := strings.Fields(strings.Repeat("to be or not ", 50))
	sort.Slice(words, func(a, b int) bool { return words[a] < words[b] })
	var list *link
	for i := 0; i < 200; i++ {
		list = &link{i, list}
	}
	var packed bytes.Buffer
	writer, _ := flate.NewWriter(&packed, 9)
	fmt.Fprint(writer, words, numbers)
	writer.Close()
	table := map[string]int{}
	for i, word := range words {
		table[word+fmt.Sprint(i)] = i
	}
	var s shape = square{float64(n)}
	return int(s.area(20)) + length(list) + faults(n) + cleans(n) + len(table) + packed.Len()
}

func main() {
	seconds := 1.0
	if len(os.Args) > 1 {
		file, err := os.Create(os.Args[2])
		if err != nil {
			panic(err)
		}
		var walks, rate, steps int
		fmt.Sscan(fmt.Sprint(os.Args[1], " ", os.Args[4], " ", os.Args[5], " ", os.Args[6]), &seconds, &walks, &rate, &steps)
		// Before the profile, so that it has no stack that was not walked. Go's handler is there from the start.
		C.walks_begin(C.CString(os.Args[3]), C.long(walks), C.long(rate), C.long(steps))
		pprof.StartCPUProfile(file)
		defer pprof.StopCPUProfile()
		defer C.walks_end()
	}
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	var group sync.WaitGroup
	results := make(chan int)
	for worker := 0; worker < 4; worker++ {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			for first := true; first || time.Now().Before(end); first = false {
				results <- work(n)
				n++
			}
		}(worker)
	}
	go func() { group.Wait(); close(results) }()
	rounds := 0
	for range results {
		if rounds++; rounds%50 == 0 {
			runtime.GC()
		}
	}
	fmt.Println("done")
}
