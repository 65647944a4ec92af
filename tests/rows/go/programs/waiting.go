// Goroutines that wait in system calls, each below another kind of frame. Prints how many and their process. SIGQUIT then
// makes Go's runtime print all stacks.
package main

/*
#include <poll.h>
#include <stddef.h>
extern void goWaits(void);
static void callsBack(int depth) {
	if (depth == 0) goWaits();
	else callsBack(depth - 1);
	__asm__ volatile("");
}
*/
import "C"

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
)

var waiting int32

// In a system call as the scheduler knows them.
func wait() {
	atomic.AddInt32(&waiting, 1)
	for {
		syscall.Syscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
}

// In one that the scheduler does not know of: the goroutine counts as running.
func waitRaw() {
	atomic.AddInt32(&waiting, 1)
	for {
		syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
}

//export goWaits
func goWaits() { wait() }

type waiter interface{ wait(depth int) int }
type recursive struct{ number int }

func (r recursive) wait(depth int) int {
	if depth == 0 {
		wait()
	}
	return r.wait(depth-1) + r.number
}

type list struct{ next *list }

func (l *list) String() string { waitRaw(); return "" }

//go:noinline
func large(n int) int {
	var big [70000]byte
	big[n] = 1
	wait()
	return int(big[n/2])
}

//go:noinline
func faults(l *list) *list {
	defer wait()
	return l.next.next
}

func index(n int, of []int) int {
	defer func() {
		defer func() { waitRaw() }()
		fmt.Fprint(os.Stderr, recover().(fmt.Stringer))
	}()
	return of[n]
}

func first[T any](of []T, then func(T)) { then(of[0]) }

func main() {
	runtime.GOMAXPROCS(64)
	var w waiter = recursive{1}
	kinds := []func(){
		wait,
		waitRaw,
		func() { w.wait(40) },
		func() { _ = fmt.Sprintf("%v", &list{}) },
		func() { large(5) },
		func() { faults(nil) },
		func() { index(3, nil) },
		func() { first([]string{"one"}, func(string) { wait() }) },
		func() { sort.Slice([]int{2, 1}, func(a, b int) bool { wait(); return a < b }) },
		func() { strings.Map(func(r rune) rune { waitRaw(); return r }, "letters") },
		func() { reflect.ValueOf(w.wait).Call([]reflect.Value{reflect.ValueOf(5)}) },
		func() { C.callsBack(5) },
		func() {
			for range map[int]int{1: 1} {
				defer func() { wait() }()
			}
		},
		func() { defer wait(); panic("panic") },
	}
	for _, kind := range kinds {
		go kind()
	}
	for int(atomic.LoadInt32(&waiting)) < len(kinds) {
		runtime.Gosched()
	}
	fmt.Println(len(kinds))
	select {}
}
