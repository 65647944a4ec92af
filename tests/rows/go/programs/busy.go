// Goroutines, panics, deferred calls, garbage collection, big frames and assembly: what a Go program's stacks are made of.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"
)

type shape interface{ area(depth int) float64 }
type square struct{ side float64 }

func (s square) area(depth int) float64 {
	if depth == 0 {
		return s.side * s.side
	}
	return s.area(depth-1) + 1
}

//go:noinline
func large(n int) int {
	var big [70000]byte
	for i := range big {
		big[i] = byte(i * n)
	}
	return int(big[n]) + len(fmt.Sprint(big[n+1]))
}

//go:noinline
func recovered(n int) (result int) {
	defer func() {
		if recover() != nil {
			result = -n
		}
	}()
	var empty []int
	return empty[n]
}

//go:noinline
func sorted(n int) string {
	words := strings.Fields(strings.Repeat("to be or not ", n))
	sort.Slice(words, func(a, b int) bool { return words[a] < words[b] })
	return words[0]
}

func main() {
	end := time.Now().Add(200 * time.Millisecond)
	if len(os.Args) > 1 {
		end = end.Add(20 * time.Second)
	}
	var group sync.WaitGroup
	sum := make(chan int)
	for worker := 0; worker < 4; worker++ {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			for time.Now().Before(end) {
				digest := sha256.Sum256([]byte(sorted(100)))
				var s shape = square{float64(digest[0])}
				sum <- large(n+1) + recovered(n) + int(s.area(n))
			}
		}(worker)
	}
	go func() { group.Wait(); close(sum) }()
	total := 0
	for n := range sum {
		total += n & 1
		if total%64 == 0 {
			runtime.GC()
		}
	}
	fmt.Println("done")
}
